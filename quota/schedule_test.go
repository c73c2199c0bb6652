package quota_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// tenPerSecond lets one call go every 100 ms.
var tenPerSecond = enrich.Limit{Name: "rate", Shape: enrich.TokenBucket, Amount: 10, Window: time.Second, Burst: 2}

// race lets askers wait together, and returns in which order they were served.
func race(t *testing.T, k *quota.Keeper, asks ...quota.Ask) (order []string) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, ask := range asks {
		all.Go(func() {
			mustAcquire(t, k, ask)
			mu.Lock()
			defer mu.Unlock()
			order = append(order, ask.Account)
		})
		synctest.Wait()
	}
	all.Wait()
	return order
}

func repeat(ask quota.Ask, n int) (asks []quota.Ask) {
	for range n {
		asks = append(asks, ask)
	}
	return asks
}

// served counts who is among the first n.
func served(order []string, n int) map[string]int {
	counts := map[string]int{}
	for _, account := range order[:min(n, len(order))] {
		counts[account]++
	}
	return counts
}

func TestInteractiveGoesFirstAndBulkAlwaysMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		asks := append(repeat(acme(enrich.Bulk, "bulk"), 30), repeat(acme(enrich.Standard, "standard"), 60)...)
		asks = append(asks, repeat(acme(enrich.Interactive, "interactive"), 120)...)
		counts := served(race(t, k, asks...), 120)
		if counts["interactive"] < 100 {
			t.Errorf("only %d of the first 120 calls were interactive", counts["interactive"])
		}
		if counts["standard"] < 4 || counts["bulk"] < 2 {
			t.Errorf("the slower lanes stand still: %v", counts)
		}
	})
}

func TestAccountsAreServedInTurnByWeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		heavy := acme(enrich.Bulk, "heavy")
		double := acme(enrich.Bulk, "double")
		double.Weight = 2
		light := acme(enrich.Bulk, "light")
		asks := append(repeat(heavy, 100), repeat(double, 50)...)
		asks = append(asks, repeat(light, 20)...)
		counts := served(race(t, k, asks...), 60)
		for account, want := range map[string]int{"heavy": 15, "double": 30, "light": 15} {
			if got := counts[account]; got < want-2 || got > want+2 {
				t.Errorf("%s got %d of the first 60 calls, want %d", account, got, want)
			}
		}
	})
}

// TestWhoComesBackKeepsItsPlace: of one account who began first is served first, in
// whatever order they come, as after a refusal or from another provider. Some leave.
func TestWhoComesBackKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		for range 10 {
			mustAcquire(t, k, acme(enrich.Bulk, "busy"))
		}
		began := time.Now()
		const callers = 200
		var mu sync.Mutex
		var order []int
		var all sync.WaitGroup
		for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(callers) {
			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			all.Go(func() {
				ask := acme(enrich.Bulk, "busy")
				ask.Since = began.Add(time.Duration(i-callers/2) * time.Millisecond)
				permit, err := k.Acquire(ctx, ask)
				if err != nil {
					return
				}
				mu.Lock()
				defer mu.Unlock()
				order = append(order, i)
				permit.Settle(enrich.KnownCharge(0), nil)
			})
			synctest.Wait()
			if i%10 == 3 {
				leave()
			}
		}
		all.Wait()
		if len(order) != callers*9/10 || !slices.IsSorted(order) {
			t.Errorf("%d callers were served in the order %v", len(order), order)
		}
	})
}

// TestWhoComesBackIsToldOfItsPlace: not that it must wait for all who came in the
// meantime, which would send it away though it is served before them.
func TestWhoComesBackIsToldOfItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		ask := acme(enrich.Interactive, "busy")
		for range 2 {
			mustAcquire(t, k, ask)
		}
		began := time.Now()
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer leave()
		const waiting = 200
		for i := range waiting {
			waiter := ask
			waiter.Since = began.Add(time.Duration(i) * time.Millisecond)
			all.Go(func() { _, _ = k.Acquire(ctx, waiter) })
			synctest.Wait()
		}
		for _, ahead := range []int{0, 1, waiting / 4, waiting * 3 / 4, waiting - 1, waiting} {
			back := ask
			back.Since = began.Add(time.Duration(ahead-1) * time.Millisecond)
			wait := time.Until(k.Forecast(back).ReadyAt)
			if want := time.Duration(ahead+1) * 100 * time.Millisecond; (wait - want).Abs() > 200*time.Millisecond {
				t.Errorf("with %d before it, it is to wait for %s, want %s", ahead, wait, want)
			}
		}
		first := ask
		first.Since = began.Add(-time.Second)
		if permit, refusal := within(t, k, time.Second, first); permit == nil {
			t.Errorf("who began first was refused: %v", refusal)
		}
	})
}

// TestIdleSharesAreNotWasted: an account alone gets everything, and one that
// comes back from idling has neither debt nor credit.
func TestIdleSharesAreNotWasted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		mustAcquire(t, k, acme(enrich.Bulk, "idle"))
		began := time.Now()
		race(t, k, repeat(acme(enrich.Bulk, "busy"), 100)...)
		if took := time.Since(began); took > 10*time.Second+time.Millisecond {
			t.Errorf("100 calls alone took %s", took)
		}
		asks := append(repeat(acme(enrich.Bulk, "busy"), 20), repeat(acme(enrich.Bulk, "idle"), 20)...)
		if counts := served(race(t, k, asks...), 20); counts["idle"] < 8 || counts["idle"] > 12 {
			t.Errorf("after idling an account got %d of 20 calls, want 10", counts["idle"])
		}
	})
}

// TestWhoLeavesTakesNothing: of waiters who give up, none costs a call, and the
// next ones move up.
func TestWhoLeavesTakesNothing(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		k := start(tenPerSecond)[0]
		ctx, leave := context.WithCancel(context.Background())
		var left sync.WaitGroup
		for range 500 {
			left.Go(func() {
				_, err := k.Acquire(ctx, acme(enrich.Interactive, "impatient"))
				var refusal *quota.Refusal
				if err != nil && (!errors.As(err, &refusal) || !errors.Is(err, context.Canceled)) {
					t.Errorf("want a refusal because the caller left, got %v", err)
				}
			})
		}
		time.Sleep(time.Second)
		leave()
		left.Wait()
		began := time.Now()
		burst([]*quota.Keeper{k}, 10, time.Minute, acme(enrich.Interactive, "patient"))
		if took := time.Since(began); took > 1200*time.Millisecond {
			t.Errorf("ten calls took %s after others had left, want about a second", took)
		}
		if state := k.Snapshot()[0]; state.Waiting[enrich.Interactive] != 0 {
			t.Errorf("%d still wait", state.Waiting[enrich.Interactive])
		}
	})
}

// TestQueuesAreBounded: a lane takes so many waiters, one account at most half of
// the free places, so that there is always room for another.
func TestQueuesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{MaxWaiting: 100}, tenPerSecond)
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		ask := func(account string, n int) {
			for range n {
				all.Go(func() { _, _ = k.Acquire(ctx, acme(enrich.Bulk, account)) })
			}
			synctest.Wait()
		}
		waiting := func() int { return k.Snapshot()[0].Waiting[enrich.Bulk] }
		ask("flood", 1000)
		if got := waiting(); got != 50 {
			t.Errorf("%d of one account wait, want 50", got)
		}
		ask("second", 1000)
		if got := waiting(); got != 75 {
			t.Errorf("%d of two accounts wait, want 75", got)
		}
		for i := range 1000 {
			ask(fmt.Sprint("account", i), 1)
		}
		if got := waiting(); got > 100 {
			t.Errorf("%d wait, want at most 100", got)
		}
		stop()
		all.Wait()
	})
}

// TestALargeCallIsNotStarved: while a call for many subjects waits, small ones do
// not eat up what it waits for.
func TestALargeCallIsNotStarved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, enrich.Limit{
			Name: "subjects", Shape: enrich.TokenBucket, Unit: enrich.Entities, Amount: 10, Window: time.Second, Burst: 50,
		})
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for ctx.Err() == nil {
					_, _ = k.Acquire(ctx, acme(enrich.Standard, "small"))
				}
			})
		}
		time.Sleep(10 * time.Second)
		large := acme(enrich.Standard, "large")
		large.Entities = 40
		began := time.Now()
		mustAcquire(t, k, large)
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("a call of 40 subjects waited %s at 10 per second", took)
		}
		stop()
		all.Wait()
	})
}

// TestOperationsDoNotBlockEachOther: waiting for the limit of one operation does
// not hold up another.
func TestOperationsDoNotBlockEachOther(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		k := start(bucket, enrich.Limit{Name: "polls", Shape: enrich.Sliding, Amount: 1, Window: time.Minute, Operations: []string{"poll"}})[0]
		poll := quota.Ask{Provider: "acme", Operation: "poll", Account: "a"}
		mustAcquire(t, k, poll)
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { _, _ = k.Acquire(ctx, poll) })
		}
		time.Sleep(time.Second)
		began := time.Now()
		mustAcquire(t, k, acme(enrich.Interactive, "a"))
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Errorf("a look-up waited %s behind polls", took)
		}
		stop()
		all.Wait()
	})
}

// TestForecastSpendsNothing and tells what Acquire would.
func TestForecastSpendsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, perDay)
		ask := acme(enrich.Interactive, "a")
		for range 100 {
			if forecast := k.Forecast(ask); forecast.Reason != "" {
				t.Fatalf("forecast %v with calls left", forecast)
			}
		}
		for range 10 {
			mustAcquire(t, k, ask)
		}
		_, refusal := within(t, k, time.Hour, ask)
		if forecast := k.Forecast(ask); forecast.Reason != refusal.Reason || !forecast.ReadyAt.Equal(refusal.ReadyAt) {
			t.Errorf("the forecast says %v, the refusal %v", forecast, refusal)
		}
		if forecast := k.Forecast(quota.Ask{Provider: "unknown"}); forecast.Reason != enrich.ReasonNoSource {
			t.Errorf("forecast of an unknown provider: %v", forecast)
		}
		if _, err := k.Acquire(context.Background(), quota.Ask{Provider: "unknown"}); err == nil {
			t.Error("an unknown provider went unmetered")
		}
	})
}

// TestWaitersAreRefusedWhenTheirTimeCannotCome: a pause or a spent day ends waits
// that have become hopeless, at once.
func TestWaitersAreRefusedWhenTheirTimeCannotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, tenPerSecond)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		ended := make(chan time.Duration, 100)
		began := time.Now()
		for range 100 {
			go func() {
				_, err := k.Acquire(ctx, acme(enrich.Bulk, "a"))
				if err != nil {
					ended <- time.Since(began)
				}
			}()
		}
		time.Sleep(time.Second)
		k.Pause("acme", time.Now().Add(time.Hour), enrich.PausedByBlock)
		synctest.Wait()
		if len(ended) < 80 {
			t.Fatalf("%d callers were refused when the pause began, want about 88", len(ended))
		}
		for range len(ended) {
			if after := <-ended; after > time.Second {
				t.Errorf("refused after %s", after)
			}
		}
	})
}

// TestALostPermitExpires: a permit that nobody ends gives its place back.
func TestALostPermitExpires(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		k := start(enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 1})[0]
		mustAcquire(t, k, acme(enrich.Interactive, "a"))
		permit, refusal := within(t, k, time.Hour, acme(enrich.Interactive, "a"))
		if refusal != nil {
			t.Fatalf("the place of a lost permit never came back: %v", refusal)
		}
		if waited := permit.Waited(); waited < 4*time.Minute || waited > 6*time.Minute {
			t.Errorf("waited %s, want about five minutes", waited)
		}
	})
}

// TestHintsOfGarbage: pauses of the past end nothing, of a year are cut to what
// can be meant.
func TestHintsOfGarbage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, bucket)
		k.Pause("acme", time.Now().Add(-time.Hour), enrich.PausedByHint)
		k.Pause("unknown", time.Now().Add(time.Hour), enrich.PausedByHint)
		mustAcquire(t, k, acme(enrich.Interactive, "a"))
		k.Pause("acme", time.Now().Add(365*24*time.Hour), enrich.PausedByHint)
		if until := k.Snapshot()[0].Pause.Until; time.Until(until) > 24*time.Hour {
			t.Errorf("a hint of a year pauses until %s", until)
		}
		k.Pause("acme", time.Now().Add(time.Second), enrich.PausedByHint)
		if until := k.Snapshot()[0].Pause.Until; time.Until(until) < 23*time.Hour {
			t.Errorf("a short pause cut a long one to %s", until)
		}
		k.Pause("acme", time.Time{}, enrich.PausedByAuth)
		time.Sleep(40 * 24 * time.Hour)
		if _, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a")); refusal == nil || refusal.Pause != enrich.PausedByAuth {
			t.Errorf("a pause until the operator acts ended by itself: %v", refusal)
		}
		k.Resume("acme")
		mustAcquire(t, k, acme(enrich.Interactive, "a"))
	})
}

// TestManyAccountsStayBounded: a million accounts leave no more behind than a
// few, and each of them was counted.
func TestManyAccountsStayBounded(t *testing.T) {
	accounts := 1_000_000
	if raceEnabled {
		accounts = 50_000
	}
	k, err := quota.New(quota.Config{}, map[string][]enrich.Limit{"acme": {
		{Name: "year", Shape: enrich.FixedWindow, Amount: 1 << 40, Window: 366 * 24 * time.Hour},
		{Name: "at_once", Shape: enrich.Concurrency, Amount: 2},
	}}, quota.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before := heap()
	var all sync.WaitGroup
	for worker := range 8 { // more than fit at once, so that accounts wait too
		all.Go(func() {
			for i := worker; i < accounts; i += 8 {
				permit, err := k.Acquire(context.Background(), quota.Ask{Provider: "acme", Account: fmt.Sprint("account", i)})
				if err != nil {
					t.Error(err)
					return
				}
				permit.Settle(enrich.KnownCharge(0), nil)
			}
		})
	}
	all.Wait()
	if grown := int64(heap()) - int64(before); grown > 4<<20 {
		t.Errorf("%d accounts left %d KiB behind", accounts, grown>>10)
	}
	if left := k.Snapshot()[0].Limits[0].Left; left != 1<<40-int64(accounts) {
		t.Errorf("%d calls were counted, want %d", 1<<40-left, accounts)
	}
}
