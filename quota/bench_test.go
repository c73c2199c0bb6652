//go:build unix

package quota_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// processorTime is what the process has used of it.
func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkDecision is one call granted and settled without waiting, against
// three limits at once. cpu-ns/op is what counts on a busy machine.
func BenchmarkDecision(b *testing.B) {
	k, err := quota.New(quota.Config{}, map[string][]enrich.Limit{"acme": {
		{Name: "second", Shape: enrich.TokenBucket, Amount: 1 << 30, Window: time.Second},
		{Name: "minute", Shape: enrich.FixedWindow, Amount: 1 << 40, Window: time.Minute},
		{Name: "at_once", Shape: enrich.Concurrency, Amount: 100},
	}}, quota.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer k.Close()
	ctx, ask := context.Background(), acme(enrich.Interactive, "a")
	b.ReportAllocs()
	began := processorTime(b)
	for b.Loop() {
		permit, err := k.Acquire(ctx, ask)
		if err != nil {
			b.Fatal(err)
		}
		permit.Settle(enrich.KnownCharge(0), nil)
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(b.N), "cpu-ns/op")
}

// BenchmarkWaiters is one waiter joining and leaving a queue in which so many
// wait already.
func BenchmarkWaiters(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			k, err := quota.New(quota.Config{MaxWaiting: 1 << 20}, map[string][]enrich.Limit{"acme": {
				{Name: "at_once", Shape: enrich.Concurrency, Amount: 1},
			}}, quota.Options{})
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			if _, err := k.Acquire(ctx, acme(enrich.Bulk, "first")); err != nil {
				b.Fatal(err)
			}
			var all sync.WaitGroup
			for i := range n {
				all.Go(func() { _, _ = k.Acquire(ctx, acme(enrich.Bulk, fmt.Sprint("a", i%1000))) })
			}
			for k.Snapshot()[0].Waiting[enrich.Bulk] < n {
				runtime.Gosched()
			}
			leaving, leave := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
			defer leave()
			joins := expired{leaving}
			b.ResetTimer()
			for b.Loop() {
				if _, err := k.Acquire(&joins, acme(enrich.Bulk, "b")); err == nil {
					b.Fatal("granted")
				}
			}
			b.StopTimer()
			cancel()
			all.Wait()
			_ = k.Close()
		})
	}
}

// expired is a context that ended, but does not say so until it is waited for.
type expired struct{ context.Context }

func (e *expired) Err() error                  { return nil }
func (e *expired) Deadline() (time.Time, bool) { return time.Time{}, false }
