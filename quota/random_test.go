package quota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// randomLimits are one to three limits that do not contradict each other, and
// the vendor's rules for them.
// Scarce ones allow a few calls only.
func randomLimits(random *rand.Rand, scarce bool) (limits []enrich.Limit, rules []strict) {
	windows := []time.Duration{time.Second, 10 * time.Second, time.Minute}
	least, spread := int64(5), int64(60)
	if scarce {
		least, spread = 1, 4
	}
	amount := int64(0)
	for i, window := range windows {
		amount = amount*3 + least + random.Int64N(spread)
		switch random.IntN(5) {
		case 0:
			limits = append(limits, enrich.Limit{Name: fmt.Sprint("fixed", i), Shape: enrich.FixedWindow, Amount: amount, Window: window})
			rules = append(rules, &strictFixed{amount: int(amount), length: window, countsRefused: random.IntN(2) == 0})
		case 1:
			limits = append(limits, enrich.Limit{Name: fmt.Sprint("sliding", i), Shape: enrich.Sliding, Amount: amount, Window: window})
			rules = append(rules, &strictSliding{amount: int(amount), length: window, countsRefused: random.IntN(2) == 0})
		case 2:
			limits = append(limits, enrich.Limit{Name: fmt.Sprint("bucket", i), Shape: enrich.TokenBucket, Amount: amount, Window: window, Burst: max(amount/3, 1)})
			rules = append(rules, newStrictBucket(float64(amount)/window.Seconds(), float64(max(amount/3, 1))))
		}
	}
	if random.IntN(3) == 0 || len(limits) == 0 {
		places := 1 + random.Int64N(8)
		limits = append(limits, enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: places})
		rules = append(rules, &strictSlots{amount: int(places)})
	}
	return limits, rules
}

// seeds is how many games of chance are played.
func seeds(t *testing.T) uint64 {
	if text := os.Getenv("ENRICHD_QUOTA_SEEDS"); text != "" {
		n, err := strconv.ParseUint(text, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if raceEnabled {
		return 3
	}
	return 12
}

// TestWhateverTheLimits: under any limits, with callers of all lanes who come in
// clumps, leave early and return permits, a strict vendor has nothing to refuse.
// Every other time the limits are scarce, and nobody has patience.
func TestWhateverTheLimits(t *testing.T) {
	for seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				random := rand.New(rand.NewPCG(seed, 7))
				scarce, longest := seed%2 == 1, time.Minute
				if scarce {
					longest = 4 * time.Second
				}
				limits, rules := randomLimits(random, scarce)
				time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
				ks := start(limits...)
				v := newVendor(rules...)
				lanes := []enrich.Lane{enrich.Interactive, enrich.Standard, enrich.Bulk}
				var all sync.WaitGroup
				for began := time.Now(); time.Since(began) < 3*time.Minute; {
					for range 1 + random.IntN(60) {
						ask := acme(lanes[random.IntN(3)], fmt.Sprint("account", random.IntN(4)))
						ask.Weight = random.IntN(3)
						k, patience, unsent := ks[random.IntN(len(ks))], time.Duration(random.Int64N(int64(longest))), random.IntN(10) == 0
						all.Go(func() {
							ctx, cancel := context.WithTimeout(context.Background(), patience)
							defer cancel()
							permit, err := k.Acquire(ctx, ask)
							switch {
							case err != nil:
							case unsent:
								permit.Return()
							default:
								v.call()
								permit.Settle(enrich.KnownCharge(0), nil)
							}
						})
					}
					time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Duration(1+seed%5)*time.Second)))
				}
				all.Wait()
				if v.refused > 0 || v.accepted == 0 {
					t.Errorf("%d of %d calls were refused under %+v", v.refused, v.calls, limits)
				}
			})
		})
	}
}
