package jobs_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

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

// TestUnwritableFile locks the file, and then makes it read-only, under an engine
// that works.
func TestUnwritableFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "enrichd.db")
	w := newWorld(t, ledger.Config{Path: path}, true)
	pragma := func(what string) {
		if _, err := w.store.Pool().Exec("PRAGMA " + what); err != nil {
			t.Fatal(err)
		}
	}
	pragma("busy_timeout = 20")
	other, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	hold := func(statement string) {
		if _, err := other.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	hold("PRAGMA busy_timeout = 10000") // the engine may be writing
	accepted := map[string]bool{}
	for name, trouble := range map[string]struct{ begin, end func() }{
		"locked":    {func() { hold("BEGIN IMMEDIATE") }, func() { hold("ROLLBACK") }},
		"read-only": {func() { pragma("query_only = 1") }, func() { pragma("query_only = 0") }},
	} {
		var leads []jobs.Lead
		for n := range 50 {
			leads = append(leads, jobs.Lead{Email: fmt.Sprintf("%s-%d@lovelace.example", name, n)})
		}
		for _, result := range w.submit(t, leads...) {
			accepted[result.Receipt.ID] = true
		}
		trouble.begin()
		results, err := w.engine.Submit(t.Context(), acme, jobs.Lead{Email: name + "@hopper.example"})
		if !unavailable(err) || len(results) != 0 {
			t.Errorf("%s: %+v, %v", name, results, err)
		}
		trouble.end()
	}
	for id := range accepted {
		if lead := w.ends(t, id); lead.State != ledger.StateDone {
			t.Errorf("accepted before: %s", lead.State)
		}
	}
	all, err := w.store.Leads(t.Context(), ledger.Filter{Most: 1000})
	if err != nil || len(all) != len(accepted) {
		t.Errorf("%d leads, %d accepted, %v", len(all), len(accepted), err)
	}
}

// TestSecondNode leaves work in the hands of a node that does not come back, to
// one that works with the same database.
func TestSecondNode(t *testing.T) {
	config := ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}
	first := newWorld(t, config, false)
	taken := first.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	if _, err := first.store.Claim(t.Context(), taken, enrich.Standard, time.Hour); err != nil {
		t.Fatal(err)
	}
	waits := first.submit(t, jobs.Lead{Email: grace})[0].Receipt.ID
	pool := first.store.Pool()
	if _, err := pool.Exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now() - interval '1 hour', attempted_by = '{node-1}'
		WHERE args->>'target' = $1`, taken); err != nil {
		t.Fatal(err)
	}
	if _, err := pool.Exec(`UPDATE leads SET processing_started_at = processing_started_at - 3600000 WHERE id = $1`, taken); err != nil {
		t.Fatal(err)
	}
	config.Node = "node-2"
	second := newWorld(t, config, true)
	for _, id := range []string{waits, taken} {
		if lead := second.ends(t, id); lead.State != ledger.StateDone {
			t.Errorf("%+v", lead)
		}
	}
	if lead := second.lead(t, taken); lead.Attempts != 2 {
		t.Errorf("%+v", lead)
	}
}

// TestSecondOfAName starts a process under the name of one that is at work: what
// that has it leaves alone.
func TestSecondOfAName(t *testing.T) {
	config := ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}
	first := newWorld(t, config, false)
	id := first.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	if _, err := first.store.Claim(t.Context(), id, enrich.Standard, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := first.store.Pool().Exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = now(), attempted_by = '{node-1}'`); err != nil {
		t.Fatal(err)
	}
	second := newWorld(t, config, true)
	second.ends(t, second.submit(t, jobs.Lead{Email: grace})[0].Receipt.ID)
	if lead := second.lead(t, id); lead.State != ledger.StateProcessing || lead.Owner != "node-1" || second.script.called(ada) > 0 {
		t.Errorf("%+v", lead)
	}
	running, err := second.engine.Queue().List(t.Context(), 10, "running")
	if err != nil || !slices.ContainsFunc(running, func(entry jobs.Entry) bool { return entry.Target == id }) {
		t.Errorf("%+v, %v", running, err)
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
