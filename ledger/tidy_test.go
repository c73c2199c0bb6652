package ledger_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// weights has two accounts fill the bulk lane, of which one has three times the
// weight of the other.
func weights(t *testing.T, store *ledger.Store) {
	of := map[string]string{}
	for account, weight := range map[string]int{"heavy": 3, "light": 0} {
		var subs []ledger.Submission
		for i := range 40 {
			subs = append(subs, submission(t, store, fmt.Sprintf("%s-%d@lovelace.example", account, i), func(s *ledger.Submission) {
				s.Lane, s.Weight = enrich.Bulk, weight
			}))
		}
		for _, receipt := range accept(t, store, account, subs...) {
			of[receipt.ID] = account
		}
	}
	fed := map[string]int{}
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		leads, err := store.Feed(ctx, tx, enrich.Bulk, 40, nil)
		for _, lead := range leads {
			fed[of[lead.ID]]++
		}
		return err
	})
	if fed["heavy"] != 30 || fed["light"] != 10 {
		t.Errorf("fed %v, want three of heavy for each of light", fed)
	}
}

// retention has two leads of everything, of which one's time is over, and one
// that is open and as old.
func retention(t *testing.T, store *ledger.Store) {
	old, recent := time.Now().Add(-48*time.Hour), time.Now()
	var leads []ledger.Lead
	for _, address := range []string{"old@lovelace.example", "recent@lovelace.example", "open@lovelace.example"} {
		leads = append(leads, claim(t, store, accept(t, store, "acme", submission(t, store, address))[0].ID))
	}
	for i, at := range []time.Time{old, recent} {
		end(t, store, leads[i], ledger.Ending{State: ledger.StateDone})
		id := fmt.Sprint(i)
		begun, err := store.BeginImport(t.Context(), "acme", "digest-"+id)
		if err != nil {
			t.Fatal(err)
		}
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			d := ledger.Delivery{ID: id, Lead: leads[i].ID, Sink: "hook", OperationKey: id, CreatedAt: at}
			if _, err := store.Post(ctx, tx, d); err != nil {
				return err
			}
			if _, err := store.EndDeliveries(ctx, tx, ledger.DeliveryEnd{Delivery: d, State: ledger.DeliveryDone}); err != nil {
				return err
			}
			if _, err := store.Received(ctx, tx, ledger.Reception{Account: "acme", Event: id, Lead: leads[i].ID}); err != nil {
				return err
			}
			if err := store.Charge(ctx, tx, ledger.Charge{Key: id, Account: "acme", Lead: leads[i].ID, Provider: "vendor", At: at}); err != nil {
				return err
			}
			if err := store.Note(ctx, tx, ledger.Event{Subject: "s", At: at, Kind: ledger.EventFound}); err != nil {
				return err
			}
			return store.AdvanceImport(ctx, tx, begun.ID, 0, []ledger.Row{{Line: 2, Status: ledger.RowAccepted, Lead: leads[i].ID}}, true)
		})
	}
	// What the ledger dates itself is made as old.
	for _, change := range []string{"leads SET finished_at = $1 WHERE id = '" + leads[0].ID + "'", "outbox SET ended_at = $1 WHERE id = '0'",
		"events SET received_at = $1 WHERE event = '0'", "imports SET finished_at = $1 WHERE digest = 'digest-0'"} {
		if _, err := store.Pool().Exec(`UPDATE `+change, old.UnixMilli()); err != nil {
			t.Fatal(err)
		}
	}
	count := func(table string) (rows int) {
		if err := store.Pool().QueryRow(`SELECT COUNT(*) FROM ` + table).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		return rows
	}
	if err := store.Tidy(t.Context(), ledger.Retention{}); err != nil {
		t.Fatal(err)
	}
	before := map[string]int{"leads": 3, "outbox": 2, "events": 2, "charges": 2, "imports": 2, "import_rows": 2, "timeline": 2}
	for table, want := range before {
		if got := count(table); got != want {
			t.Errorf("%s without an end: %d rows, want %d", table, got, want)
		}
	}
	day := 24 * time.Hour
	if err := store.Tidy(t.Context(), ledger.Retention{Events: day, Leads: day, Charges: day, Timeline: day}); err != nil {
		t.Fatal(err)
	}
	for table, was := range before {
		if got := count(table); got != was-1 {
			t.Errorf("%s after a day: %d rows, want %d", table, got, was-1)
		}
	}
	if got := lead(t, store, leads[2].ID); got.State != ledger.StateProcessing {
		t.Errorf("the open lead is %+v", got)
	}
}
