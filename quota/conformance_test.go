package quota_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// sources are the two ways in which calls are counted. Whatever the limits mean,
// they mean it in both.
var sources = map[string]func(t *testing.T, limits ...enrich.Limit) []*quota.Keeper{
	"one process":    oneProcess,
	"three replicas": threeReplicas,
}

// conform runs a test with both sources, each in a bubble of its own.
func conform(t *testing.T, test func(t *testing.T, start func(limits ...enrich.Limit) []*quota.Keeper)) {
	for name, source := range sources {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				test(t, func(limits ...enrich.Limit) []*quota.Keeper { return source(t, limits...) })
			})
		})
	}
}

// burst asks n times at once, at all replicas in turn, with so much time, and
// returns the permits.
func burst(ks []*quota.Keeper, n int, patience time.Duration, ask quota.Ask) (permits []*quota.Permit) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			if permit, err := ks[i%len(ks)].Acquire(ctx, ask); err == nil {
				mu.Lock()
				defer mu.Unlock()
				permits = append(permits, permit)
			}
		})
	}
	all.Wait()
	return permits
}

// TestEveryShapeHolds asks for far more than each limit allows, for a while.
func TestEveryShapeHolds(t *testing.T) {
	for name, c := range map[string]struct {
		limit       enrich.Limit
		least, most int // in the first 2.5 windows, begun with a window
	}{
		"token bucket": {enrich.Limit{Shape: enrich.TokenBucket, Amount: 100, Window: 10 * time.Second, Burst: 50}, 290, 300},
		"fixed":        {enrich.Limit{Shape: enrich.FixedWindow, Amount: 100, Window: 10 * time.Second}, 240, 300},
		"sliding":      {enrich.Limit{Shape: enrich.Sliding, Amount: 100, Window: 10 * time.Second}, 240, 300},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				c.limit.Name = "limit"
				ks := start(c.limit)
				got := len(burst(ks, 1000, 25*time.Second, acme(enrich.Bulk, "a")))
				if got < c.least || got > c.most {
					t.Errorf("got %d calls in 25 s, want %d to %d", got, c.least, c.most)
				}
			})
		})
	}
}

func TestConcurrencyHolds(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 5})
		var running, most, done atomic.Int64
		var all sync.WaitGroup
		for i := range 300 {
			all.Go(func() {
				permit := mustAcquire(t, ks[i%len(ks)], acme(enrich.Standard, "a"))
				most.Store(max(most.Load(), running.Add(1)))
				time.Sleep(100 * time.Millisecond)
				running.Add(-1)
				permit.Settle(enrich.KnownCharge(0), nil)
				done.Add(1)
			})
		}
		all.Wait()
		if most.Load() != 5 {
			t.Errorf("%d calls were under way at once, want 5", most.Load())
		}
	})
}

// TestAllOrNone: a call that lacks one limit takes nothing of the others.
func TestAllOrNone(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(
			enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 1000, Calendar: "day"},
			enrich.Limit{Name: "hour", Shape: enrich.Sliding, Amount: 10, Window: time.Hour},
		)
		time.Sleep(time.Minute)
		if got := len(burst(ks, 50, 3*time.Second, acme(enrich.Standard, "a"))); got != 10 {
			t.Errorf("got %d calls, want 10", got)
		}
		time.Sleep(time.Second)
		for _, level := range ks[0].Snapshot()[0].Limits {
			if level.Name == "day" && level.Left != 990 {
				t.Errorf("%d calls of the day are left, want 990", level.Left)
			}
		}
	})
}

// TestReturnedCallsCanBeUsed: what was never sent is there for others, also at
// other replicas.
func TestReturnedCallsCanBeUsed(t *testing.T) {
	for _, limit := range []enrich.Limit{
		{Name: "bucket", Shape: enrich.TokenBucket, Amount: 12, Window: time.Hour},
		{Name: "fixed", Shape: enrich.FixedWindow, Amount: 10, Window: time.Hour},
		{Name: "sliding", Shape: enrich.Sliding, Amount: 10, Window: time.Hour},
	} {
		t.Run(limit.Name, func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				ks := start(limit)
				permits := burst(ks, 10, time.Second, acme(enrich.Standard, "a"))
				if len(permits) != 10 {
					t.Fatalf("got %d calls, want 10", len(permits))
				}
				for _, permit := range permits[:4] {
					permit.Return()
					permit.Return() // has no effect
				}
				time.Sleep(time.Second)
				if again := len(burst(ks[:1], 10, 5*time.Second, acme(enrich.Standard, "a"))); again != 4 {
					t.Errorf("%d calls could be used again, want 4", again)
				}
			})
		})
	}
}

// TestOperationsAndEntities: a limit counts its operations only, and subjects
// where it says so.
func TestOperationsAndEntities(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(
			enrich.Limit{Name: "polls", Shape: enrich.FixedWindow, Amount: 2, Window: time.Hour, Operations: []string{"poll"}},
			enrich.Limit{Name: "subjects", Shape: enrich.FixedWindow, Unit: enrich.Entities, Amount: 100, Window: time.Hour},
		)
		poll := quota.Ask{Provider: "acme", Operation: "poll", Account: "a"}
		if got := len(burst(ks[:1], 5, time.Second, poll)); got != 2 {
			t.Errorf("got %d polls, want 2", got)
		}
		batch := quota.Ask{Provider: "acme", Operation: "batch", Account: "a", Entities: 30}
		if got := len(burst(ks[:1], 5, time.Second, batch)); got != 3 {
			t.Errorf("got %d batches of 30, want 3 of what two polls left of 100", got)
		}
		batch.Entities = 101
		if _, refusal := within(t, ks[0], time.Hour, batch); refusal == nil || !refusal.ReadyAt.IsZero() {
			t.Errorf("a batch that never fits: want a refusal without a time, got %v", refusal)
		}
	})
}

// TestTheVendorKnowsBetter: what the vendor says lowers the account, and never
// raises it.
func TestTheVendorKnowsBetter(t *testing.T) {
	for _, shape := range []enrich.LimitShape{enrich.FixedWindow, enrich.Sliding, enrich.TokenBucket} {
		t.Run(string(shape), func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				ks := start(enrich.Limit{Name: "limit", Shape: shape, Amount: 100, Window: time.Hour})
				tell := func(remaining int64) {
					mustAcquire(t, ks[0], acme(enrich.Interactive, "a")).Settle(enrich.KnownCharge(0), []enrich.LimitState{
						{Name: "limit", Limit: -1, Remaining: remaining}, {Name: "unknown", Remaining: 0},
					})
					time.Sleep(time.Second)
				}
				left := func() int64 { return ks[0].Snapshot()[0].Limits[0].Left }
				tell(1000)
				if got := left(); got != 99 {
					t.Errorf("%d are left after a vendor promised more, want 99", got)
				}
				tell(-1)
				tell(20)
				if got := left(); got < 18 || got > 20 {
					t.Errorf("%d are left, the vendor said 20", got)
				}
				tell(50)
				if got := left(); got > 20 {
					t.Errorf("%d are left: a vendor's word raised the account", got)
				}
			})
		})
	}
}

// TestALearnedLimitHolds: a vendor that says it allows less is believed, one that
// says more is not.
func TestALearnedLimitHolds(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(enrich.Limit{Name: "minute", Shape: enrich.FixedWindow, Amount: 100, Window: time.Minute})
		mustAcquire(t, ks[0], acme(enrich.Interactive, "a")).Settle(enrich.KnownCharge(0), []enrich.LimitState{{Name: "minute", Limit: 30, Remaining: -1}})
		time.Sleep(time.Minute)
		if got := len(burst(ks, 200, 50*time.Second, acme(enrich.Interactive, "a"))); got != 30 {
			t.Errorf("got %d calls in a minute, the vendor allows 30", got)
		}
	})
}

// TestReloadNeverRefills: limits that change or stay during load let no more
// calls through than the quota.
func TestReloadNeverRefills(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		hour := enrich.Limit{Name: "hour", Shape: enrich.FixedWindow, Amount: 300, Window: time.Hour}
		rate := enrich.Limit{Name: "rate", Shape: enrich.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}
		ks := start(hour, rate)
		ctx, stop := context.WithCancel(context.Background())
		var reloads sync.WaitGroup
		reloads.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				renamed, faster := hour, rate
				if i%2 == 1 {
					renamed.Name = "per_hour"
					faster.Burst = 15
				}
				limits := map[string][]enrich.Limit{"acme": {renamed, faster}}
				if i%7 == 6 {
					limits["other"] = nil
				}
				for _, k := range ks {
					if err := k.Apply(limits); err != nil {
						t.Error(err)
					}
				}
				time.Sleep(100 * time.Millisecond)
			}
		})
		time.Sleep(5 * time.Minute)
		got := len(burst(ks, 1000, 50*time.Second, acme(enrich.Bulk, "a")))
		stop()
		reloads.Wait()
		if got > 300 || got < 200 {
			t.Errorf("got %d calls of 300 an hour during reloads", got)
		}
	})
}

// TestIdlenessEarnsNoMoreThanTheBurst: a bucket that was full for long is full,
// not fuller.
func TestIdlenessEarnsNoMoreThanTheBurst(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(bucket)
		time.Sleep(10 * time.Minute)
		if got := len(burst(ks, 60, 0, acme(enrich.Interactive, "a"))); got > 20 {
			t.Errorf("%d calls at once after idling, the burst is 20", got)
		}
	})
}
