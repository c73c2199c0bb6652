package quota_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// arrival is a call as a vendor writes it down.
type arrival struct {
	at, ended time.Time
	operation string
	entities  int64
}

// units of the arrival that a limit counts.
func (a arrival) units(limit enrich.Limit) int64 {
	switch {
	case len(limit.Operations) > 0 && !slices.Contains(limit.Operations, a.operation):
		return 0
	case limit.Unit == enrich.Entities && limit.Shape != enrich.Concurrency:
		return a.entities
	}
	return 1
}

// excess says where arrivals, the earliest first, are more than a limit allows;
// empty: nowhere.
func excess(limit enrich.Limit, arrivals []arrival) string {
	tokens, last := float64(limit.Burst), time.Time{}
	for i, a := range arrivals {
		n := a.units(limit)
		if n == 0 {
			continue
		}
		sum := int64(0)
		over := func(counts func(b arrival) bool) bool {
			for _, b := range arrivals[:i+1] {
				if counts(b) {
					sum += b.units(limit)
				}
			}
			return sum > limit.Amount
		}
		bad := false
		switch limit.Shape {
		case enrich.FixedWindow:
			bad = over(func(b arrival) bool { return !b.at.Before(a.at.Truncate(limit.Window)) })
		case enrich.Sliding:
			bad = over(func(b arrival) bool { return a.at.Sub(b.at) < limit.Window })
		case enrich.Concurrency:
			bad = over(func(b arrival) bool { return b.ended.After(a.at) })
		case enrich.TokenBucket:
			if !last.IsZero() {
				tokens = min(float64(limit.Burst), tokens+a.at.Sub(last).Seconds()*float64(limit.Amount)/limit.Window.Seconds())
			}
			tokens, last = tokens-float64(n), a.at
			bad = tokens < -1e-6
		}
		if bad {
			return fmt.Sprintf("at %s %d units of %s were too many", a.at.Format("04:05.000"), n, a.operation)
		}
	}
	return ""
}

// mixedLimits are one to three limits, which count all calls, those of an operation,
// or the subjects that they ask for.
func mixedLimits(random *rand.Rand) (limits []enrich.Limit) {
	windows := []time.Duration{time.Second, 10 * time.Second, time.Minute}
	amount := int64(0)
	for i, window := range windows {
		amount = amount*3 + 4 + random.Int64N(8)
		limit := enrich.Limit{Name: fmt.Sprint("limit", i), Amount: amount, Window: window}
		switch random.IntN(4) {
		case 0:
			limit.Shape = enrich.FixedWindow
		case 1:
			limit.Shape = enrich.Sliding
		case 2:
			limit.Shape, limit.Burst = enrich.TokenBucket, max(amount/(1+random.Int64N(3)), 3)
		default:
			continue
		}
		if random.IntN(2) == 0 {
			limit.Unit = enrich.Entities
		}
		if random.IntN(2) == 0 {
			limit.Operations = []string{[]string{"person", "company"}[random.IntN(2)]}
		}
		limits = append(limits, limit)
	}
	if random.IntN(3) == 0 || len(limits) == 0 {
		limits = append(limits, enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 1 + random.Int64N(8)})
	}
	return limits
}

// mixed has callers of several operations and sizes, who have little patience, come in
// clumps for a while, and compares what the vendor wrote down with the limits. Each
// comes to the keeper that is picked.
func mixed(t *testing.T, random *rand.Rand, limits []enrich.Limit, rest time.Duration, pick func() *quota.Keeper) {
	v := newVendor()
	lanes, operations := []enrich.Lane{enrich.Interactive, enrich.Standard, enrich.Bulk}, []string{"person", "company"}
	var mu sync.Mutex
	var arrivals []arrival
	var all sync.WaitGroup
	for began := time.Now(); time.Since(began) < 3*time.Minute; {
		for range 1 + random.IntN(40) {
			ask := acme(lanes[random.IntN(3)], fmt.Sprint("account", random.IntN(3)))
			ask.Operation, ask.Entities = operations[random.IntN(2)], 1+random.IntN(3)
			k, patience, unsent := pick(), time.Duration(random.Int64N(int64(4*time.Second))), random.IntN(10) == 0
			all.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				permit, err := k.Acquire(ctx, ask)
				if err != nil {
					return
				}
				if unsent {
					permit.Return()
					return
				}
				time.Sleep(v.way())
				a := arrival{at: time.Now(), operation: ask.Operation, entities: int64(ask.Entities)}
				v.mu.Lock()
				service := v.service()
				v.mu.Unlock()
				time.Sleep(service)
				a.ended = time.Now()
				time.Sleep(v.way())
				permit.Settle(enrich.KnownCharge(0), nil)
				mu.Lock()
				defer mu.Unlock()
				arrivals = append(arrivals, a)
			})
		}
		time.Sleep(time.Duration(random.ExpFloat64() * float64(rest)))
	}
	all.Wait()
	slices.SortFunc(arrivals, func(a, b arrival) int { return a.at.Compare(b.at) })
	if len(arrivals) == 0 {
		t.Error("nobody was served")
	}
	for _, limit := range limits {
		if where := excess(limit, arrivals); where != "" {
			t.Errorf("%s, of %d calls, under %+v of %+v", where, len(arrivals), limit, limits)
		}
	}
}

// TestWhateverIsCounted: whatever limits count, calls stay within them by the vendor's
// own books.
func TestWhateverIsCounted(t *testing.T) {
	for seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
				random := rand.New(rand.NewPCG(seed, 12))
				limits := mixedLimits(random)
				time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
				ks := start(limits...)
				mixed(t, random, limits, time.Duration(1+seed%5)*time.Second, func() *quota.Keeper { return ks[random.IntN(len(ks))] })
			})
		})
	}
}

// TestWhoeverComesAndGoes: replicas that are replaced while callers wait there take
// nothing along, and newcomers bring nothing.
func TestWhoeverComesAndGoes(t *testing.T) {
	for seed := range seeds(t) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 13))
				limits := mixedLimits(random)
				time.Sleep(time.Duration(random.Int64N(int64(time.Minute))))
				f := newFleet(t, 3, limits...)
				ks := slices.Clone(f.keepers)
				mixed(t, random, limits, time.Duration(1+seed%5)*time.Second, func() *quota.Keeper {
					at := random.IntN(len(ks))
					if random.IntN(100) == 0 {
						go ks[at].Close()
						ks[at] = f.add(t)
					}
					return ks[at]
				})
			})
		})
	}
}
