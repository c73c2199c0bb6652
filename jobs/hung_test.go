package jobs_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// TestAnOperatorIsNotLeftWaiting for tables that somebody else never gives back.
func TestAnOperatorIsNotLeftWaiting(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}, false)
	held, err := w.store.Pool().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Rollback()
	if _, err := held.Exec(`LOCK TABLE river_job, river_queue IN ACCESS EXCLUSIVE MODE`); err != nil {
		t.Fatal(err)
	}
	queue, ctx := w.engine.Queue(), context.Background()
	var all sync.WaitGroup
	for name, ask := range map[string]func() error{
		"pause":  func() error { return queue.Pause(ctx, enrich.Bulk) },
		"resume": func() error { return queue.Resume(ctx, enrich.Bulk) },
		"forget": func() error { return queue.Forget(ctx, 1) },
		"list":   func() error { _, err := queue.List(ctx, 10); return err },
		"stats":  func() error { _, err := queue.Stats(ctx); return err },
	} {
		all.Go(func() {
			if err := ask(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	all.Wait()
}
