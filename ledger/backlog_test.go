package ledger_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

func backlogs(t *testing.T, store *ledger.Store) {
	for n, sink := range []string{"hook", "archive", "hook"} {
		d := ledger.Delivery{ID: string(rune('a' + n)), Lead: "l", Account: "acme", Subject: "s", Sink: sink, OperationKey: string(rune('a' + n)),
			CreatedAt: time.UnixMilli(int64(1000 * (n + 1))), Payload: []byte(`{}`)}
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			_, err := store.Post(ctx, tx, d)
			return err
		})
	}
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		_, err := store.EndDeliveries(ctx, tx, ledger.DeliveryEnd{Delivery: ledger.Delivery{ID: "b", Subject: "s", Sink: "archive"}, State: ledger.DeliveryDone})
		return err
	})
	all, err := store.Backlogs(t.Context())
	if err != nil || len(all) != 1 || all[0] != (ledger.Backlog{Sink: "hook", Deliveries: 2, Oldest: time.UnixMilli(1000)}) {
		t.Errorf("backlogs = %+v, %v", all, err)
	}
}

func marks(t *testing.T, store *ledger.Store) {
	replace := func(before, value string, want bool) {
		t.Helper()
		if replaced, err := store.ReplaceMark(t.Context(), "m", before, value); err != nil || replaced != want {
			t.Errorf("%q replaces %q: %v, %v", value, before, replaced, err)
		}
	}
	replace("", "a", true)
	replace("", "b", false) // somebody was first
	replace("a", "b", true)
	replace("a", "c", false)
	if mark, err := store.Mark(t.Context(), "m"); err != nil || mark != "b" {
		t.Errorf("mark = %q, %v", mark, err)
	}
}
