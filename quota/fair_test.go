package quota_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// replicas is how a fairness figure is measured: some keepers of one account.
type replicas func(t *testing.T, limits ...enrich.Limit) []*quota.Keeper

func oneProcess(t *testing.T, limits ...enrich.Limit) []*quota.Keeper {
	return []*quota.Keeper{newKeeper(t, quota.Config{}, limits...)}
}

func fixedMinute() *vendor { return newVendor(&strictFixed{amount: 600, length: time.Minute}) }

// measureSmallAccount (F1): 10 leads of a small account, 30 s after 10,000 of
// another.
func measureSmallAccount(t *testing.T, start replicas, v *vendor, enter func(i int) int, limits ...enrich.Limit) {
	ks := start(t, limits...)
	r := newResult(v)
	ctx, cancel := context.WithCancel(context.Background())
	var big, small sync.WaitGroup
	for i := range 10_000 {
		big.Go(func() { r.lead(ctx, ks[i%len(ks)], acme(enrich.Bulk, "big")) })
	}
	time.Sleep(30 * time.Second)
	for i := range 10 {
		small.Go(func() { r.lead(ctx, ks[enter(i)%len(ks)], acme(enrich.Bulk, "small")) })
	}
	small.Wait()
	cancel()
	big.Wait()
	bound := 10*2/10.0 + .2
	atMost(t, "F1 small account's P95 over its fair-share bound", r.p95("small").Seconds()/bound, 2)
	atMost(t, "   refused per 10,000 calls", r.per10k(), 5)
}

// measureInteractive (F2): interactive callers during an import of 3,000 leads.
func measureInteractive(t *testing.T, start replicas, v *vendor, ideal func(began time.Time, leads int) time.Duration, limits ...enrich.Limit) {
	ks := start(t, limits...)
	random := rand.New(rand.NewPCG(3, 4))
	r := newResult(v)
	var all sync.WaitGroup
	interactive := 0
	visit := func(account string) {
		time.Sleep(time.Duration(random.ExpFloat64() * float64(2*time.Second)))
		k := ks[interactive%len(ks)]
		all.Go(func() { r.lead(context.Background(), k, acme(enrich.Interactive, account)) })
		interactive++
	}
	for range 100 {
		visit("alone")
	}
	all.Wait()
	interactive = 0
	r.began = time.Now()
	for i := range 3000 {
		all.Go(func() { r.lead(context.Background(), ks[i%len(ks)], acme(enrich.Bulk, "import")) })
	}
	for time.Since(r.began) < 4*time.Minute {
		visit("person")
	}
	all.Wait()
	atMost(t, "F2 interactive P95 under an import over P95 alone", r.p95("person").Seconds()/r.p95("alone").Seconds(), 2)
	atLeast(t, "   the import's ideal/drain", ideal(r.began, 3000+interactive).Seconds()/r.drained().Seconds(), .96)
	atMost(t, "   refused per 10,000 calls", r.per10k(), 5)
}

// measureClumps (F3): a load of 70 % that comes in clumps of 20.
func measureClumps(t *testing.T, start replicas, v *vendor, limits ...enrich.Limit) {
	ks := start(t, limits...)
	random := rand.New(rand.NewPCG(5, 6))
	r := newResult(v)
	var all sync.WaitGroup
	for time.Since(r.began) < 10*time.Minute {
		for i := range 20 {
			all.Go(func() { r.lead(context.Background(), ks[i%len(ks)], acme(enrich.Standard, "a")) })
		}
		time.Sleep(time.Duration(random.ExpFloat64() * float64(20*time.Second) / 7))
	}
	all.Wait()
	atMost(t, "F3 P95 of a 70 % load in clumps, seconds", r.p95("a").Seconds(), 1)
	atMost(t, "   refused per 10,000 calls", r.per10k(), 5)
}

func TestOneProcessIsFair(t *testing.T) {
	for name, measure := range map[string]func(t *testing.T){
		"F1 bucket": func(t *testing.T) {
			measureSmallAccount(t, oneProcess, newVendor(newStrictBucket(10, 20)), func(i int) int { return i }, bucket)
		},
		"F1 fixed": func(t *testing.T) {
			measureSmallAccount(t, oneProcess, fixedMinute(), func(i int) int { return i }, perMinute)
		},
		"F2": func(t *testing.T) { measureInteractive(t, oneProcess, fixedMinute(), idealMinute, perMinute) },
		"F3": func(t *testing.T) { measureClumps(t, oneProcess, fixedMinute(), perMinute) },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, measure) })
	}
}

// TestNothingIsCalledAfterTheDayIsSpent (Q7): 2,000 leads meet a day of 1,000
// calls. All of the day is used, and the vendor never has to refuse.
func TestNothingIsCalledAfterTheDayIsSpent(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		time.Sleep(10 * time.Hour)
		ks := start(enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 1000, Calendar: "day"}, bucket)
		v := newVendor(&strictFixed{amount: 1000, length: 24 * time.Hour}, newStrictBucket(10, 20))
		r := newResult(v)
		var all sync.WaitGroup
		for i := range 2000 {
			all.Go(func() {
				for began := time.Now(); time.Since(began) < 30*time.Minute; time.Sleep(2 * time.Minute) {
					ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
					done := r.try(ctx, ks[i%len(ks)], acme(enrich.Bulk, "a"))
					cancel()
					if done {
						return
					}
				}
			})
		}
		all.Wait()
		atLeast(t, "Q7 calls of the day that were used", float64(v.accepted), 1000)
		atMost(t, "   calls after it was spent", float64(v.refused), 0)
	})
}
