package quota_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// TestCallsThatLeaveLate: on a busy machine one call in ten leaves up to half a
// second after its turn, far beyond the guard, and those that follow a window
// later are in time. A strict vendor refuses next to none, and the limit is used.
func TestCallsThatLeaveLate(t *testing.T) {
	sliding := enrich.Limit{Name: "log", Shape: enrich.Sliding, Amount: 100, Window: 10 * time.Second}
	fixed := enrich.Limit{Name: "window", Shape: enrich.FixedWindow, Amount: 100, Window: 10 * time.Second}
	for name, c := range map[string]struct {
		limit enrich.Limit
		rule  func() strict
	}{
		"sliding": {sliding, func() strict { return &strictSliding{amount: 100, length: 10 * time.Second, countsRefused: true} }},
		"fixed":   {fixed, func() strict { return &strictFixed{amount: 100, length: 10 * time.Second, countsRefused: true} }},
	} {
		t.Run(name, func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				ks := start(c.limit)
				r := newResult(newVendor(c.rule()))
				const leads = 1980 // a few calls that are lost cost no window
				var all sync.WaitGroup
				for i := range leads {
					random := rand.New(rand.NewPCG(uint64(i), 1))
					all.Go(func() { r.late(ks[i%len(ks)], random) })
				}
				all.Wait()
				ideal := time.Duration((leads+99)/100-1) * 10 * time.Second
				atLeast(t, "ideal/drain", ideal.Seconds()/r.drained().Seconds(), .95)
				atMost(t, "429s per 10,000", r.per10k(), 10)
			})
		})
	}
}

// late asks like lead, for calls that may leave late.
func (r *result) late(k *quota.Keeper, random *rand.Rand) {
	for accepted := false; !accepted; {
		permit, err := k.Acquire(context.Background(), acme(enrich.Bulk, "big"))
		if err != nil {
			panic(err)
		}
		if random.IntN(10) == 0 {
			time.Sleep(time.Duration(random.Int64N(int64(500 * time.Millisecond))))
		}
		permit.Left(time.Now())
		got := r.vendor.call()
		permit.Settle(enrich.KnownCharge(0), got.limits)
		if accepted = got.accepted; !accepted {
			k.Pause("acme", got.retryAt, enrich.PausedByHint)
		}
	}
}
