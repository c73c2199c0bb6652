package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// hanging stands between a Store and PostgreSQL, and can keep back all that
// either says: the connections stay up, and new ones are accepted.
type hanging struct {
	gate sync.RWMutex // held for writing while it hangs
	to   string
}

// before returns the connection string by which dsn is reached through h.
func (h *hanging) before(t *testing.T, dsn string) string {
	t.Helper()
	parsed, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	h.to, parsed.Host = parsed.Host, listener.Addr().String()
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go h.carry(near)
		}
	}()
	return parsed.String()
}

func (h *hanging) carry(near net.Conn) {
	defer near.Close()
	far, err := net.Dial("tcp", h.to)
	if err != nil {
		return
	}
	defer far.Close()
	go io.Copy(gated{h, near}, far)
	io.Copy(gated{h, far}, near)
}

type gated struct {
	*hanging
	io.Writer
}

func (g gated) Write(text []byte) (int, error) {
	g.gate.RLock()
	defer g.gate.RUnlock()
	return g.Writer.Write(text)
}

// TestNobodyWaitsForADatabaseThatHangs: it is as good as one that is down, and
// when it is back so is the ledger.
func TestNobodyWaitsForADatabaseThatHangs(t *testing.T) {
	var between hanging
	store := open(t, ledger.Config{PostgreSQL: between.before(t, pgtest.Start(t, pgtest.Fast).Database(t)), Connections: 2})
	store.WaitAtMost(200 * time.Millisecond)
	keeper := ledger.Keeper{Caches: forgetful{}, Store: store, Log: slog.New(slog.DiscardHandler)}
	address, err := email.Normalize(ada)
	if err != nil {
		t.Fatal(err)
	}
	key, now := address.Key(), time.Now().Truncate(time.Millisecond)
	answer := enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateAbsent, Source: "alpha", FetchedAt: now})
	keep := func(subject string) error { return store.KeepAnswer(t.Context(), subject, answer, now.Add(time.Hour)) }
	if err := keep("before"); err != nil {
		t.Fatal(err)
	}

	between.gate.Lock()
	thaw := sync.OnceFunc(between.gate.Unlock)
	defer thaw()
	const enough = 4 * time.Second
	var all sync.WaitGroup
	in := func(what string, fails bool, do func() error) {
		all.Go(func() {
			began := time.Now()
			err := do()
			if took := time.Since(began); took > enough {
				t.Errorf("%s waited for %s", what, took)
			}
			if fails != errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	for n := range 200 { // more than a batch, and than there are connections
		in("keep", true, func() error { return keep(fmt.Sprint("meanwhile-", n)) })
	}
	for range 20 {
		in("write", true, func() error {
			return store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `SELECT 1`)
				return err
			})
		})
		in("lead", true, func() error { _, err := store.Lead(t.Context(), "none"); return err })
		in("stops", true, func() error { _, err := store.Switches(t.Context()); return err })
		in("recall", false, func() error { keeper.RecallAll(t.Context(), []email.Key{key}); return nil })
		in("remember", false, func() error { keeper.Remember(t.Context(), key, answer, now.Add(time.Hour)); return nil })
	}
	all.Wait()
	thaw()
	if err := keep("after"); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	if known, err := store.Answers(t.Context(), []string{"before", "after"}); err != nil || len(known) != 2 {
		t.Errorf("it knows %d answers, %v; want 2", len(known), err)
	}
}

// TestAStartDoesNotWaitForAMuteDatabase, nor does a stop wait for the start.
func TestAStartDoesNotWaitForAMuteDatabase(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") // whose connections nobody ever accepts
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	mute := ledger.Config{PostgreSQL: "postgres://enrichd@" + listener.Addr().String() + "/enrichd?sslmode=disable"}
	opened := func(ctx context.Context, within time.Duration) {
		t.Helper()
		began := time.Now()
		if store, err := ledger.Open(ctx, mute); err == nil {
			store.Close()
			t.Error("it opens")
		}
		if took := time.Since(began); took > within {
			t.Errorf("it was waited for, for %s", took)
		}
	}
	opened(context.Background(), 9*time.Second)
	stopping, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	opened(stopping, 2*time.Second)
}
