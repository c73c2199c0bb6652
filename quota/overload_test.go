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

// overload lets so many callers a second come to three replicas for five minutes, each
// with so much patience.
func overload(t *testing.T, v *vendor, perSecond float64, patience time.Duration, limit enrich.Limit) {
	f := newFleet(t, 3, limit)
	random := rand.New(rand.NewPCG(8, 9))
	var all sync.WaitGroup
	n := 0
	for began := time.Now(); time.Since(began) < 5*time.Minute; n++ {
		k := f.keepers[n%3]
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			if permit, err := k.Acquire(ctx, acme(enrich.Bulk, "a")); err == nil {
				v.call()
				permit.Settle(enrich.KnownCharge(0), nil)
			}
		})
		time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / perSecond))
	}
	all.Wait()
}

// TestWhatRanOverDoesNotComeBack: calls that were booked for callers who have left go
// back, but not the tokens that a small bucket had no room for meanwhile.
func TestWhatRanOverDoesNotComeBack(t *testing.T) {
	for _, perMinute := range []int64{20, 60, 120} {
		for _, burst := range []int64{1, 2, 3, 4, 6} {
			t.Run(fmt.Sprint(perMinute, " a minute, burst ", burst), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limit := enrich.Limit{Name: "small", Shape: enrich.TokenBucket, Amount: perMinute, Window: time.Minute, Burst: burst}
					v := newVendor(newStrictBucket(float64(perMinute)/60, float64(burst)))
					overload(t, v, 3, 2*time.Second, limit)
					if v.refused > 0 {
						t.Errorf("%d of %d calls were refused", v.refused, v.calls)
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
