package enrich

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// flights lets the callers of this process share one look-up per subject. A
// flight does not die with the caller that began it. When the last one has left
// it is cancelled and lands as soon as it can, which is not before a call that
// was sent has been answered. Until then a newcomer joins it, so that no second
// call is paid for beside it.
//
//	flying -- look returns --> landed: every waiter has what it found
//	flying -- erasure -------> stopped: waiters have nothing, what it still brings is dropped
type flights struct {
	mu     sync.Mutex
	flying map[string]*flight
	crew   Crew
	// running counts flights and refreshes; idle, if anybody waits for it, is
	// closed when there are none.
	running int
	idle    chan struct{}
	closed  bool
}

// flight is one look-up about one subject.
type flight struct {
	begun   trace.SpanContext // of the caller that began it
	waiters int
	cancel  context.CancelFunc
	urgency *Urgency
	// stopped is set by an erasure.
	stopped atomic.Bool
	done    chan struct{} // closed when found is set
	found   Found
}

// look finds something out for a flight.
type look func(context.Context, *flight) Found

// join waits for the subject's flight, which begins now with look if there is
// none. It returns when the flight has landed or ctx has ended; shared tells
// that another caller began it.
func (f *flights) join(ctx context.Context, key string, lane Lane, look look) (found Found, shared bool, err error) {
	flight, shared := f.board(ctx, key, lane, look)
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

func (f *flights) board(ctx context.Context, key string, lane Lane, look look) (*flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if flying, ok := f.flying[key]; ok {
		flying.waiters++
		flying.urgency.Join(lane)
		return flying, true
	}
	// Trace and identity go along, the caller's cancellation does not.
	lookCtx, cancel := context.WithDeadline(context.WithoutCancel(ctx), reportBy(ctx))
	flying := &flight{begun: trace.SpanContextFromContext(ctx), waiters: 1, cancel: cancel, urgency: NewUrgency(lane), done: make(chan struct{})}
	if f.flying == nil {
		f.flying = map[string]*flight{}
	}
	f.flying[key] = flying
	f.begin(func() {
		defer cancel()
		found := contained(lookCtx, flying, look)
		f.mu.Lock()
		defer f.mu.Unlock()
		if !flying.stopped.Load() {
			f.land(key, flying, found)
		}
	})
	return flying, false
}

// land ends a flight. The caller holds the lock.
func (f *flights) land(key string, flying *flight, found Found) {
	delete(f.flying, key)
	flying.found = found
	close(flying.done)
}

// stop ends the subject's flight for an erasure and tells whether there was one.
func (f *flights) stop(key string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	flying, ok := f.flying[key]
	if !ok {
		return false
	}
	flying.stopped.Store(true)
	flying.cancel()
	f.land(key, flying, Found{Err: stoppedError()})
	return true
}

// stoppedError is what becomes of a look-up whose subject was erased meanwhile.
func stoppedError() *Error {
	return &Error{Kind: Unavailable, Message: "what is known of the subject was erased meanwhile; ask again", Offset: -1}
}

// contained turns a panic into a failure of this one look-up: it runs in a
// goroutine of its own, where a panic would end the process.
func contained(ctx context.Context, flying *flight, look look) (found Found) {
	defer func() {
		if recover() != nil {
			found = Found{Err: panicError()}
		}
	}()
	return look(ctx, flying)
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

// background runs work that no caller waits for, and close does. It returns
// false after close.
func (f *flights) background(work func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.begin(work)
	return true
}

// begin runs work in a goroutine of its own. The caller holds the lock.
func (f *flights) begin(work func()) {
	f.running++
	f.crew.Go(func() {
		defer f.end()
		work()
	})
}

func (f *flights) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.running == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// close lets nothing begin in the background any more and returns when all that
// is under way has ended, or ctx has.
func (f *flights) close(ctx context.Context) error {
	defer f.crew.Close()
	f.mu.Lock()
	f.closed = true
	if f.running > 0 && f.idle == nil {
		f.idle = make(chan struct{})
	}
	running, idle := f.running > 0, f.idle
	f.mu.Unlock()
	if !running {
		return nil
	}
	select {
	case <-idle:
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
