package ledger_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

// crossing erases subjects while their deliveries end, in either order: nobody
// waits for somebody who waits for him.
func crossing(t *testing.T, store *ledger.Store) {
	post := func(subject string, count int) (ends []ledger.DeliveryEnd) {
		var deliveries []ledger.Delivery
		for range count {
			id := ledger.NewID()
			deliveries = append(deliveries, ledger.Delivery{ID: id, Lead: "l", Account: "acme", Subject: subject, Sink: "hook", OperationKey: id,
				CreatedAt: time.Now(), Payload: []byte(`{}`)})
			ends = append(ends, ledger.DeliveryEnd{State: ledger.DeliveryDone, Delivery: deliveries[len(deliveries)-1]})
		}
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			_, err := store.Post(ctx, tx, deliveries...)
			return err
		})
		return ends
	}
	post("others", 3000) // so many that the few are looked up one by one, in the order in which they are asked for
	if _, err := store.Pool().Exec(`ANALYZE outbox`); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		ends := post("s", 60)
		backwards := slices.Clone(ends)
		slices.Reverse(backwards)
		var all sync.WaitGroup
		for _, order := range [][]ledger.DeliveryEnd{ends, backwards} {
			all.Go(func() {
				err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
					_, err := store.EndDeliveries(ctx, tx, order...)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Go(func() {
			if _, err := store.EraseSubject(t.Context(), "s"); err != nil {
				t.Error(err)
			}
		})
		all.Wait()
	}
}
