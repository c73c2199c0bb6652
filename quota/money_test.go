package quota_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// moneyFleet is replicas that share caps.
func moneyFleet(t *testing.T, size int, caps ...quota.Cap) *fleet {
	f := newFleet(t, 0)
	f.config.Caps = caps
	for range size {
		f.add(t)
	}
	return f
}

func priced(account string, price enrich.Micros) quota.Ask {
	return quota.Ask{Provider: "acme", Account: account, Price: price}
}

// TestExactlyWhatTheCapAllows: of 200 callers at once with money for 10, exactly
// 10 are let through, by one process and by three replicas.
func TestExactlyWhatTheCapAllows(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) []*quota.Keeper{
		"one process": func(t *testing.T) []*quota.Keeper {
			return []*quota.Keeper{newKeeper(t, quota.Config{Caps: []quota.Cap{{Day: 1000}}})}
		},
		"three replicas": func(t *testing.T) []*quota.Keeper { return moneyFleet(t, 3, quota.Cap{Day: 1000}).keepers },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ks := start(t)
				var paid atomic.Int64
				var all sync.WaitGroup
				for i := range 200 {
					all.Go(func() {
						permit, err := ks[i%len(ks)].Acquire(context.Background(), priced("a", 100))
						if err == nil {
							paid.Add(1)
							permit.Settle(enrich.KnownCharge(100), nil)
						}
					})
				}
				all.Wait()
				if paid.Load() != 10 {
					t.Errorf("%d were let through, want 10", paid.Load())
				}
			})
		})
	}
}

// TestMoneyComesBack: what was reserved and not charged can be spent, at another
// replica too; an unknown charge counts as the whole price.
func TestMoneyComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := moneyFleet(t, 2, quota.Cap{Account: "a", Month: 1000})
		a, b := f.keepers[0], f.keepers[1]
		first := mustAcquire(t, a, priced("a", 1000))
		if _, refusal := within(t, b, time.Second, priced("a", 1)); refusal == nil || refusal.Reason != enrich.ReasonMoneyCap ||
			!refusal.ReadyAt.Equal(time.Date(2000, 2, 1, 0, 0, 0, 0, time.UTC)) {
			t.Fatalf("want a refusal until next month, got %v", refusal)
		}
		mustAcquire(t, b, priced("other", 500)).Return()
		first.Settle(enrich.KnownCharge(400), nil)
		time.Sleep(15 * time.Second) // idle money goes back
		mustAcquire(t, b, priced("a", 500)).Settle(enrich.Charge{}, nil)
		if _, refusal := within(t, b, time.Second, priced("a", 200)); refusal == nil {
			t.Error("an unknown charge was not counted")
		}
		mustAcquire(t, b, priced("a", 100)).Return()
		mustAcquire(t, b, priced("a", 100))
	})
}

// TestMoneyLimitOfAProvider: a limit in money holds like a cap, and a new day
// brings new money.
func TestMoneyLimitOfAProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, enrich.Limit{
			Name: "spend", Shape: enrich.FixedWindow, Unit: enrich.Money, Amount: 300, Calendar: "day", Zone: "America/New_York",
		})
		for range 3 {
			mustAcquire(t, k, priced("a", 100)).Settle(enrich.KnownCharge(100), nil)
		}
		_, refusal := within(t, k, time.Hour, priced("a", 100))
		if refusal == nil || !refusal.ReadyAt.Equal(time.Date(2000, 1, 1, 5, 0, 0, 0, time.UTC)) {
			t.Fatalf("want a refusal until midnight in New York, got %v", refusal)
		}
		if forecast := k.Forecast(priced("a", 100)); forecast.Reason != enrich.ReasonMoneyCap {
			t.Errorf("the forecast does not know: %v", forecast)
		}
		time.Sleep(time.Until(refusal.ReadyAt))
		mustAcquire(t, k, priced("a", 100))
	})
}

// TestMoneyStateLost: a flushed Redis lets nobody spend more than the cap.
func TestMoneyStateLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := moneyFleet(t, 3, quota.Cap{Day: 10_000})
		spent := 0
		for i := range 300 {
			if i == 50 || i == 120 {
				f.redis.FlushAll()
			}
			if permit, err := f.keepers[i%3].Acquire(context.Background(), priced("a", 100)); err == nil {
				permit.Settle(enrich.KnownCharge(100), nil)
				spent += 100
			}
		}
		if spent > 10_000 {
			t.Errorf("%d was spent of 10000", spent)
		}
	})
}

// TestNoAccountGoesUnmetered: with more accounts than are kept apart, those that
// come late share one purse.
func TestNoAccountGoesUnmetered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{Caps: []quota.Cap{{Account: "*", Day: 100}}})
		let := 0
		for i := range 20_000 {
			if permit, err := k.Acquire(context.Background(), priced(fmt.Sprint("account", i), 100)); err == nil {
				permit.Settle(enrich.KnownCharge(100), nil)
				let++
			}
		}
		if let != 16_385 {
			t.Errorf("%d calls were let through, want one for each of 16384 accounts and one for all others", let)
		}
	})
}
