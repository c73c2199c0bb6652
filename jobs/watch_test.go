package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// onBoth runs a test with a queue in either database, which says what it works.
func onBoth(t *testing.T, promise func(t *testing.T, store *ledger.Store, q *queue, worked chan string)) {
	for name, config := range map[string]func(*testing.T) ledger.Config{
		"sqlite": func(t *testing.T) ledger.Config { return ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")} },
		"postgresql": func(t *testing.T) ledger.Config {
			return ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			worked := make(chan string)
			store, q := queueIn(t, config(t), func(_ context.Context, task Task) error { worked <- task.Target; return nil })
			promise(t, store, q, worked)
		})
	}
}

// queueIn makes a queue that is not started.
func queueIn(t *testing.T, config ledger.Config, handle Handler) (*ledger.Store, *queue) {
	t.Helper()
	store, err := ledger.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	q, err := newQueue(t.Context(), store, Config{}.WithDefaults(), map[Kind]Handler{Enrich: handle, Deliver: handle}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return store, q
}

// TestTheWatchTellsOfLanesWithJobs: of those whose time has come, whichever
// process put them there, and of nothing else.
func TestTheWatchTellsOfLanesWithJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, store *ledger.Store, q *queue, _ chan string) {
		hears := func(within time.Duration) string {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			told, err := q.watch.WaitForNotification(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				return ""
			} else if err != nil {
				t.Fatal(err)
			}
			return told.Topic + " " + told.Payload
		}
		change := func(work func(context.Context, *sql.Tx) error) {
			t.Helper()
			if err := store.Write(t.Context(), work); err != nil {
				t.Fatal(err)
			}
		}
		const short, long = 3 * lookInterval, time.Minute
		if told := hears(short); told != "" {
			t.Errorf("an empty queue: %s", told)
		}
		change(func(ctx context.Context, tx *sql.Tx) error {
			return q.Submit(ctx, tx, Job{Kind: Enrich, Target: "one", Lane: enrich.Standard})
		})
		for range 2 { // until somebody takes it
			if told := hears(long); told != `river_insert {"queue": "standard"}` {
				t.Errorf("a job: %s", told)
			}
		}
		in := func(wait string) {
			t.Helper()
			at := `now() + interval '` + wait + `'`
			if store.IsSQLite() {
				at = `datetime('now', 'subsec', '` + wait + `')`
			}
			change(func(ctx context.Context, tx *sql.Tx) error {
				_, err := tx.ExecContext(ctx, `UPDATE river_job SET scheduled_at = `+at)
				return err
			})
		}
		in("1 hour")
		hears(short) // what a look before found
		if told := hears(short); told != "" {
			t.Errorf("a job of later: %s", told)
		}
		in("1 second")
		if told := hears(long); told != `river_insert {"queue": "standard"}` {
			t.Errorf("a job whose time has come: %s", told)
		}
		if err := q.Pause(t.Context(), enrich.Bulk); !errors.Is(err, ledger.ErrUnknown) {
			t.Errorf("a lane that nobody works: %v", err)
		}
	})
}

// TestAResumedLaneGoesOnAtOnce, as does one that is paused stop: River looks by
// itself once a minute. What it is fetching as it is told, it still works.
func TestAResumedLaneGoesOnAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, store *ledger.Store, q *queue, worked chan string) {
		if err := q.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		defer q.Stop(context.Background())
		events, leave := q.client.Subscribe(river.EventKindQueuePaused)
		defer leave()
		began := time.Now()
		if err := q.Pause(t.Context(), enrich.Bulk); err != nil {
			t.Fatal(err)
		}
		<-events
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it stopped after %s", took)
		}
		submit := func(target string, lane enrich.Lane) {
			t.Helper()
			if err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return q.Submit(ctx, tx, Job{Kind: Enrich, Target: target, Lane: lane})
			}); err != nil {
				t.Fatal(err)
			}
		}
		submit("paused", enrich.Bulk)
		select {
		case <-worked:
			t.Fatal("a paused lane works")
		case <-time.After(5 * lookInterval):
		}
		began = time.Now()
		if err := q.Resume(t.Context(), enrich.Bulk); err != nil {
			t.Fatal(err)
		}
		<-worked
		submit("next", enrich.Interactive)
		<-worked
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it went on after %s", took)
		}
		var written int
		if store.IsSQLite() {
			if err := store.Pool().QueryRow(`SELECT COUNT(*) FROM river_notification`).Scan(&written); err != nil || written > 0 {
				t.Errorf("%d notifications were written, %v", written, err)
			}
		}
	})
}

// TestALookThatHangsEnds with its time, and with a stop.
func TestALookThatHangsEnds(t *testing.T) {
	t.Parallel()
	store, q := queueIn(t, ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}, nil)
	held, err := store.Pool().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback()
	if _, err := held.Exec(`LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	look := func(w *watch) (over chan struct{}) {
		over = make(chan struct{})
		go func() { defer close(over); w.look() }()
		return over
	}
	ends := func(over chan struct{}, with string) {
		t.Helper()
		select {
		case <-over:
		case <-time.After(20 * time.Second):
			t.Errorf("a look does not end with %s", with)
		}
	}
	ends(look(newWatch(store)), "its time")
	q.watch.within = time.Hour
	over := look(q.watch)
	for hangs := false; !hangs; {
		if err := held.QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_locks WHERE NOT granted)`).Scan(&hangs); err != nil {
			t.Fatal(err)
		}
	}
	if err := q.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	ends(over, "a stop")
}
