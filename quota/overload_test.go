package quota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// overloaded is what became of callers who came to three replicas of an account
// that has too few calls for them.
type overloaded struct {
	vendor               *vendor
	came, served, inVain int
}

// overload lets so many callers a second come for five minutes, each with so much
// patience.
func overload(t *testing.T, v *vendor, perSecond float64, patience time.Duration, limits ...enrich.Limit) (o overloaded) {
	f := newFleet(t, 3, limits...)
	random := rand.New(rand.NewPCG(8, 9))
	o.vendor = v
	var mu sync.Mutex
	var all sync.WaitGroup
	for began := time.Now(); time.Since(began) < 5*time.Minute; o.came++ {
		k := f.keepers[o.came%3]
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			came := time.Now()
			permit, err := k.Acquire(ctx, acme(enrich.Bulk, "a"))
			waited := time.Since(came)
			if err == nil {
				v.call()
				permit.Settle(enrich.KnownCharge(0), nil)
			}
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				o.served++
			case waited > 10*time.Millisecond:
				o.inVain++
			}
		})
		time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / perSecond))
	}
	all.Wait()
	return o
}

// TestNobodyWaitsInVain: where replicas share an overload, each tells of the calls
// that will be its own. Whoever cannot be served in time is refused at once, and yet
// nothing of the account is left.
func TestNobodyWaitsInVain(t *testing.T) {
	few := enrich.Limit{Name: "few", Shape: enrich.TokenBucket, Amount: 20, Window: time.Minute, Burst: 2}
	for name, c := range map[string]struct {
		limit     enrich.Limit
		rule      strict
		perSecond float64
		patience  time.Duration
		calls     int     // of the account in five minutes
		inVain    float64 // of those who come
	}{
		"bucket":  {bucket, newStrictBucket(10, 20), 30, 10 * time.Second, 3000, .05},
		"window":  {perMinute, &strictFixed{amount: 600, length: time.Minute}, 30, 30 * time.Second, 3000, .10},
		"few":     {few, newStrictBucket(1./3, 2), 10, 10 * time.Second, 100, .10},
		"hurried": {few, newStrictBucket(1./3, 2), 10, 2 * time.Second, 100, .40},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := overload(t, newVendor(c.rule), c.perSecond, c.patience, c.limit)
				atLeast(t, "served, of what the account has", float64(o.served)/float64(c.calls), .97)
				atMost(t, "waited in vain, of those who came", float64(o.inVain)/float64(o.came), c.inVain)
			})
		})
	}
}

// TestForecastKnowsHowAccountsAreSpread: an account that waits at one replica alone
// is served there more often than one that waits at all, and is told so.
func TestForecastKnowsHowAccountsAreSpread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, bucket)
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		wait := func(k *quota.Keeper, account string) {
			for range 30 {
				all.Go(func() {
					for ctx.Err() == nil {
						if permit, err := k.Acquire(ctx, acme(enrich.Bulk, account)); err == nil {
							permit.Settle(enrich.KnownCharge(0), nil)
						}
					}
				})
			}
		}
		for _, k := range f.keepers {
			wait(k, "everywhere")
		}
		wait(f.keepers[0], "here")
		time.Sleep(30 * time.Second)
		var told, waited time.Duration
		for range 10 {
			began := time.Now()
			told += time.Until(f.keepers[0].Forecast(acme(enrich.Bulk, "here")).ReadyAt)
			mustAcquire(t, f.keepers[0], acme(enrich.Bulk, "here")).Settle(enrich.KnownCharge(0), nil)
			waited += time.Since(began)
		}
		cancel()
		all.Wait()
		atLeast(t, "told, of what was waited", told.Seconds()/waited.Seconds(), .85)
		atMost(t, "told, of what was waited", told.Seconds()/waited.Seconds(), 1.15)
	})
}

// TestWhatRanOverDoesNotComeBack: calls that were booked for callers who have left go
// back, but not the tokens that a small bucket had no room for meanwhile.
func TestWhatRanOverDoesNotComeBack(t *testing.T) {
	for _, perMinute := range []int64{20, 60, 120} {
		for _, burst := range []int64{1, 2, 3, 4, 6} {
			t.Run(fmt.Sprint(perMinute, " a minute, burst ", burst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limit := enrich.Limit{Name: "small", Shape: enrich.TokenBucket, Amount: perMinute, Window: time.Minute, Burst: burst}
					o := overload(t, newVendor(newStrictBucket(float64(perMinute)/60, float64(burst))), 3, 2*time.Second, limit)
					if o.vendor.refused > 0 {
						t.Errorf("%d of %d calls were refused", o.vendor.refused, o.vendor.calls)
					}
				})
			})
		}
	}
}

// TestOneLimitSpreadsWhatAnotherAllows: in a small bucket nothing gathers between calls
// that another limit keeps further apart than the bucket fills.
func TestOneLimitSpreadsWhatAnotherAllows(t *testing.T) {
	for _, slow := range []int64{12, 14, 16, 18, 24} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 3,
					enrich.Limit{Name: "small", Shape: enrich.TokenBucket, Amount: 4, Window: time.Second, Burst: 1},
					enrich.Limit{Name: "slow", Shape: enrich.TokenBucket, Amount: slow, Window: 10 * time.Second, Burst: 5})
				v := newVendor(newStrictBucket(4, 1), newStrictBucket(float64(slow)/10, 5))
				var all sync.WaitGroup
				for n := range 60 {
					all.Go(func() {
						permit := mustAcquire(t, f.keepers[n%3], acme(enrich.Bulk, "a"))
						v.call()
						permit.Settle(enrich.KnownCharge(0), nil)
					})
				}
				all.Wait()
				if v.refused > 0 {
					t.Errorf("%d of %d calls were refused", v.refused, v.calls)
				}
			})
		})
	}
}

// TestACallAtTheEdgeNeedsRoomOnBothSides: the vendor may count a call at the end of a
// window in the next one, which others have booked.
func TestACallAtTheEdgeNeedsRoomOnBothSides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now() // a window's
		f := newFleet(t, 4, enrich.Limit{Name: "rate", Shape: enrich.FixedWindow, Amount: 3, Window: time.Second})
		time.Sleep(880 * time.Millisecond)
		var sent []*quota.Permit
		for range 3 {
			sent = append(sent, mustAcquire(t, f.keepers[0], acme(enrich.Interactive, "a")))
		}
		var all sync.WaitGroup
		for _, k := range f.keepers[1:] {
			all.Go(func() {
				mustAcquire(t, k, acme(enrich.Interactive, "a")).Settle(enrich.KnownCharge(0), nil)
			})
		}
		time.Sleep(80 * time.Millisecond)
		sent[0].Return()
		sent[1].Return()
		mustAcquire(t, f.keepers[0], acme(enrich.Interactive, "a")).Settle(enrich.KnownCharge(0), nil)
		if at := time.Since(began); at < 2*time.Second {
			t.Errorf("went at %s, where the next window was booked", at)
		}
		all.Wait()
	})
}
