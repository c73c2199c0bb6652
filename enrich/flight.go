package enrich

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// flights lets the callers of this process share one look-up per subject. A
// flight does not die with the caller that began it. When the last one has left
// it is cancelled and lands as soon as it can, which is not before a call that
// was sent has been answered. Until then a newcomer joins it, so that no second
// call is paid for beside it.
type flights struct {
	mu      sync.Mutex
	flying  map[string]*flight
	landing sync.WaitGroup
}

type flight struct {
	begun   trace.SpanContext // of the caller that began it
	waiters int
	cancel  context.CancelFunc
	done    chan struct{} // closed when found is set
	found   Found
}

// join waits for the subject's flight, which begins now with look if there is
// none. It returns when the flight has landed or ctx has ended; shared tells
// that another caller began it.
func (f *flights) join(ctx context.Context, key string, look func(context.Context) Found) (found Found, shared bool, err error) {
	flight, shared := f.board(ctx, key, look)
	if shared {
		trace.SpanFromContext(ctx).AddLink(trace.Link{SpanContext: flight.begun})
	}
	select {
	case <-flight.done:
		return flight.found, shared, nil
	case <-ctx.Done():
		f.leave(flight)
		return Found{}, shared, ctx.Err()
	}
}

func (f *flights) board(ctx context.Context, key string, look func(context.Context) Found) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flying, ok := f.flying[key]; ok {
		flying.waiters++
		return flying, true
	}
	// Trace and identity go along, the caller's cancellation does not.
	lookCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), reportBy(ctx))
	flying := &flight{begun: trace.SpanContextFromContext(ctx), waiters: 1, cancel: cancel, done: make(chan struct{})}
	if f.flying == nil {
		f.flying = map[string]*flight{}
	}
	f.flying[key] = flying
	f.landing.Go(func() {
		defer cancel()
		found := contained(lookCtx, look)
		f.mu.Lock()
		delete(f.flying, key)
		f.mu.Unlock()
		flying.found = found
		close(flying.done)
	})
	return flying, false
}

// contained turns a panic into a failure of this one look-up: it runs in a
// goroutine of its own, where a panic would end the process.
func contained(ctx context.Context, look func(context.Context) Found) (found Found) {
	defer func() {
		if recover() != nil {
			found = Found{Err: panicError()}
		}
	}()
	return look(ctx)
}

// panicError is the failure of a look-up that panicked. What it panicked with
// may be personal data; the stack says enough.
func panicError() *Error {
	return AsError(fmt.Errorf("panic in a look-up: %s", debug.Stack()))
}

// leave gives up waiting; the last one to leave cancels the flight.
func (f *flights) leave(flying *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	flying.waiters--
	if flying.waiters == 0 {
		flying.cancel()
	}
}

// wait returns when all flights have landed or ctx has ended.
func (f *flights) wait(ctx context.Context) error {
	landed := make(chan struct{})
	go func() { f.landing.Wait(); close(landed) }()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reportBy is when a look-up must end for its caller's answer to leave in
// time: a twentieth of the time left is kept back, 50 ms at most. Callers
// always have a deadline.
func reportBy(ctx context.Context) time.Time {
	deadline, _ := ctx.Deadline()
	return deadline.Add(-min(time.Until(deadline)/20, 50*time.Millisecond))
}
