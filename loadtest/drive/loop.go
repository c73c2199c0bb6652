package drive

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// undated returns a context that ends when ctx does but has no deadline: a
// service that is told when a test ends would refuse what it cannot do until
// then.
func undated(ctx context.Context) (context.Context, func()) {
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	return calls, func() { stop(); cancel() }
}

// Closed has workers call one after the other until ctx ends or a call returns
// false. n counts the calls from 0. This measures throughput; latencies of a
// closed loop flatter, because who waits does not ask. Calls get a context
// without a deadline that ends with ctx.
func Closed(ctx context.Context, workers int, call func(ctx context.Context, n int64) bool) {
	calls, end := undated(ctx)
	defer end()
	var number atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for ctx.Err() == nil && call(calls, number.Add(1)-1) {
			}
		})
	}
	working.Wait()
}

// Open begins rate calls a second until ctx ends or a call returns false, and
// then waits for those under way. intended is when the call ought to have begun:
// a latency counted from it includes what a stalled service keeps back. At most
// atOnce calls are under way; when all are, later ones begin late, and their
// intended time says so. Calls get a context as Closed's do.
func Open(ctx context.Context, rate float64, atOnce int, call func(ctx context.Context, n int64, intended time.Time) bool) {
	if rate <= 0 {
		return
	}
	calls, end := undated(ctx)
	defer end()
	begin := time.Now()
	places := make(chan struct{}, atOnce)
	var working sync.WaitGroup
	defer working.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var over atomic.Bool
	for n := int64(0); !over.Load(); n++ {
		intended := begin.Add(time.Duration(float64(n) / rate * float64(time.Second)))
		if wait := time.Until(intended); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-ctx.Done():
				return
			}
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		working.Go(func() {
			if !call(calls, n, intended) {
				over.Store(true)
			}
			<-places
		})
	}
}
