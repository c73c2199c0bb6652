package drive

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Closed has workers call one after the other until ctx ends or a call returns
// false. n counts the calls from 0. This measures throughput; latencies of a
// closed loop flatter, because who waits does not ask.
func Closed(ctx context.Context, workers int, call func(ctx context.Context, n int64) bool) {
	var number atomic.Int64
	var working sync.WaitGroup
	for range workers {
		working.Go(func() {
			for ctx.Err() == nil && call(ctx, number.Add(1)-1) {
			}
		})
	}
	working.Wait()
}

// Open begins rate calls a second until ctx ends or a call returns false, and
// then waits for those under way. intended is when the call ought to have begun:
// a latency counted from it includes what a stalled service keeps back. At most
// atOnce calls are under way; when all are, later ones begin late, and their
// intended time says so.
func Open(ctx context.Context, rate float64, atOnce int, call func(ctx context.Context, n int64, intended time.Time) bool) {
	if rate <= 0 {
		return
	}
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
			if !call(ctx, n, intended) {
				over.Store(true)
			}
			<-places
		})
	}
}
