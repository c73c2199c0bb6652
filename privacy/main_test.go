package privacy

import (
	"bytes"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/redisconn"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// A client that was closed while its Redis was away notices within a second.
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

const pepper = "a pepper for tests only"

func keyOf(t testing.TB, address string) email.Key {
	t.Helper()
	a, err := email.Normalize(address)
	if err != nil {
		t.Fatal(err)
	}
	return a.Key()
}

func companyOf(t testing.TB, domain string) email.Key {
	t.Helper()
	d, err := email.NormalizeDomain(domain)
	if err != nil {
		t.Fatal(err)
	}
	return d.Key()
}

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

func (l *logged) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

func silent() *slog.Logger { return slog.New(slog.DiscardHandler) }

func redisOf(server *redistest.Server) redisconn.Config {
	return redisconn.Config{Addresses: []string{server.Addr}}
}

// startList begins a list that ends with the test.
func startList(t testing.TB, config Config) *Suppressions {
	t.Helper()
	if config.Pepper == "" {
		config.Pepper = pepper
	}
	list, err := NewSuppressions(config, silent())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { list.Close() })
	return list
}

func add(t testing.TB, list *Suppressions, key email.Key) Kept {
	t.Helper()
	kept, err := list.Add(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return kept
}

func suppressed(t testing.TB, list *Suppressions, key email.Key) bool {
	t.Helper()
	is, err := list.Suppressed(key)
	if err != nil {
		t.Fatal(err)
	}
	return is
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
