package idempotency

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const pepper = "a pepper for tests only"

func keyOf(t testing.TB, address string) email.Key {
	t.Helper()
	a, err := email.Normalize(address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Key()
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

// logged is a log that can be read.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func startStore(t testing.TB, config Config) *Store {
	t.Helper()
	store, err := New(config, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

// does answers with a text, about nobody, and counts.
func does(text string, times *int) Work {
	return func(context.Context) ([]byte, []email.Key, error) {
		*times++
		return []byte(text), nil, nil
	}
}

// about answers with a text about a subject.
func about(text string, subject email.Key) Work {
	return func(context.Context) ([]byte, []email.Key, error) { return []byte(text), []email.Key{subject}, nil }
}

// never fails the test.
func never(t *testing.T) Work {
	return func(context.Context) ([]byte, []email.Key, error) {
		t.Error("worked again")
		return nil, nil, nil
	}
}

func want(t *testing.T, store *Store, key string, fingerprint byte, work Work, answer string) {
	t.Helper()
	if got, err := store.Do(t.Context(), "sales", key, [32]byte{fingerprint}, work); err != nil || string(got) != answer {
		t.Errorf("%s: %q, %v, want %q", key, got, err, answer)
	}
}

func reasonOf(err error) string {
	var typed *enrich.Error
	if errors.As(err, &typed) {
		return typed.Reason
	}
	return ""
}

// eventually waits for something that other goroutines or processes do.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for giveUp := time.After(30 * time.Second); !holds(); {
		select {
		case <-giveUp:
			t.Fatalf("%s: not within 30 s", what)
		case <-look.C:
		}
	}
}
