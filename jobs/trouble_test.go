package jobs_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// unavailable tells whether leads were refused in words that a caller can act on.
func unavailable(err error) bool {
	var refused *enrich.Error
	return errors.As(err, &refused) && refused.Kind == enrich.Unavailable
}

// TestDatabaseRestart ends the database in the middle of work.
func TestDatabaseRestart(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Fast)
	w := newWorld(t, ledger.Config{PostgreSQL: cluster.Database(t)}, true)
	var ids []string
	for n := range 60 {
		results, err := w.engine.Submit(t.Context(), acme, jobs.Lead{Email: fmt.Sprintf("n%d@lovelace.example", n)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, results[0].Receipt.ID)
	}
	cluster.Kill()
	if _, err := w.engine.Submit(t.Context(), acme, jobs.Lead{Email: ada}); !unavailable(err) {
		t.Errorf("while the database is away: %v", err)
	}
	if err := cluster.Run(); err != nil {
		t.Fatal(err)
	}
	for _, id := range ids {
		until(t, "a lead accepted before the restart is done", func() bool {
			lead, err := w.store.Lead(t.Context(), id)
			return err == nil && lead.State == ledger.StateDone
		})
	}
}

// TestFullDisk lets the file grow no more, and then again.
func TestFullDisk(t *testing.T) {
	w := newWorld(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")}, false)
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	limit := func(pages int) {
		if _, err := w.store.Pool().Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)); err != nil {
			t.Fatal(err)
		}
	}
	limit(1) // not below what it has
	accepted := map[string]bool{id: true}
	full := false
	for n := 0; n < 5000 && !full; n += 100 {
		var leads []jobs.Lead
		for i := range 100 {
			leads = append(leads, jobs.Lead{Email: fmt.Sprintf("n%d@lovelace.example", n+i)})
		}
		results, err := w.engine.Submit(t.Context(), acme, leads...)
		if full = err != nil; full && (!unavailable(err) || len(results) != 0) {
			t.Fatalf("a full disk: %d results, %v", len(results), err)
		}
		for _, result := range results {
			accepted[result.Receipt.ID] = true
		}
	}
	if !full {
		t.Fatal("the disk never filled")
	}
	limit(1 << 30)
	w.start(t)
	for id := range accepted {
		if lead := w.ends(t, id); lead.State != ledger.StateDone {
			t.Errorf("accepted before: %s", lead.State)
		}
	}
	if lead := w.ends(t, w.submit(t, jobs.Lead{Email: grace})[0].Receipt.ID); lead.State != ledger.StateDone {
		t.Errorf("accepted after: %s", lead.State)
	}
	all, err := w.store.Leads(t.Context(), ledger.Filter{Most: 10_000})
	if err != nil || len(all) != len(accepted)+1 {
		t.Errorf("%d leads, %d accepted, %v", len(all), len(accepted)+1, err)
	}
}
