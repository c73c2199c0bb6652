package quota_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// result is what a drain of leads measured.
type result struct {
	vendor *vendor
	began  time.Time
	mu     sync.Mutex
	waits  map[string][]time.Duration // by account: from the ask to the answer
	lost   int                        // leads that gave up
}

func newResult(v *vendor) *result {
	return &result{vendor: v, began: time.Now(), waits: map[string][]time.Duration{}}
}

// lead asks until the vendor accepted the call.
func (r *result) lead(ctx context.Context, k *quota.Keeper, ask quota.Ask) {
	if !r.try(ctx, k, ask) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lost++
	}
}

// try asks until the vendor accepted the call, as the router does: a refused
// call pauses the provider until the hint. It is false if the quota refuses.
func (r *result) try(ctx context.Context, k *quota.Keeper, ask quota.Ask) bool {
	began := time.Now()
	for {
		permit, err := k.Acquire(ctx, ask)
		if err != nil {
			return false
		}
		got := r.vendor.call()
		permit.Settle(enrich.KnownCharge(0), got.limits)
		if got.accepted {
			break
		}
		k.Pause(ask.Provider, got.retryAt, enrich.PausedByHint)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waits[ask.Account] = append(r.waits[ask.Account], time.Since(began))
	return true
}

// per10k is how many refusals there were per 10,000 calls.
func (r *result) per10k() float64 {
	return float64(r.vendor.refused) * 10_000 / float64(max(r.vendor.calls, 1))
}

// drained is the time until the last accepted call arrived.
func (r *result) drained() time.Duration { return r.vendor.last.Sub(r.began) }

// p95 of an account's waits.
func (r *result) p95(account string) time.Duration {
	waits := slices.Sorted(slices.Values(r.waits[account]))
	if len(waits) == 0 {
		return 0
	}
	return waits[min(len(waits)*95/100, len(waits)-1)]
}

// drain sends the leads of one account, each to the replica that enter says, and
// waits until all are done.
func drain(v *vendor, leads int, enter func(i int) *quota.Keeper) *result {
	r := newResult(v)
	var all sync.WaitGroup
	for i := range leads {
		all.Go(func() {
			r.lead(context.Background(), enter(i), acme(enrich.Bulk, "big"))
		})
	}
	all.Wait()
	return r
}

// figure is one line of the table of figures.
type figure struct {
	name  string
	value float64
	must  string
	ok    bool
}

// atLeast and atMost check a measured value and log it.
func atLeast(t *testing.T, name string, value, least float64) {
	t.Helper()
	report(t, figure{name, value, fmt.Sprintf("≥ %.3g", least), value >= least})
}

func atMost(t *testing.T, name string, value, most float64) {
	t.Helper()
	report(t, figure{name, value, fmt.Sprintf("≤ %.3g", most), value <= most})
}

func report(t *testing.T, f figure) {
	t.Helper()
	line := fmt.Sprintf("%-60s %8.3f  must be %s", f.name, f.value, f.must)
	if f.ok {
		t.Log(line)
	} else {
		t.Error(line)
	}
}

// idealFixed is the least time to drain n calls through aligned windows: the
// rest of the first, then whole ones, and the beginning of the last.
func idealFixed(began time.Time, n, amount int, length time.Duration) time.Duration {
	rest := began.Truncate(length).Add(length).Sub(began)
	windows := (n + amount - 1) / amount
	return rest + time.Duration(windows-2)*length
}

func idealMinute(began time.Time, n int) time.Duration {
	return idealFixed(began, n, 600, time.Minute)
}

// idealBucket is the least time at 10/s with a burst of 20.
func idealBucket(_ time.Time, n int) time.Duration { return time.Duration(n-20) * time.Second / 10 }
