package router

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

// vendor is a provider and the times that apply to it.
type vendor struct {
	providers.Provider
	timeout, pause time.Duration
}

// question is one exchange to be made with a provider.
type question struct {
	query providers.Query
	ask   quota.Ask
	// book says what of a reply's charge is news to the quota.
	book func(enrich.Outcome, enrich.Charge) enrich.Charge
	// acquireBy is until when a token may be waited for, deadline until when the
	// call may take; fair is how long it must be given to be blamed for silence.
	acquireBy, deadline time.Time
	fair                time.Duration
}

// answer is what came of it.
type answer struct {
	reply providers.Reply
	began time.Time
	took  time.Duration
	// cut tells that the call had too little time to blame the vendor.
	cut bool
}

// exchange makes one exchange: quota around breaker around call. The refusal is
// set when the vendor was not called; whatever was taken has been given back.
func (r *Router) exchange(ctx context.Context, rt *route, q question) (answer, *quota.Refusal) {
	if time.Now().After(q.acquireBy) {
		return answer{}, refused(enrich.ReasonOutOfTime, time.Time{})
	}
	acquireCtx, cancel := context.WithDeadline(ctx, q.acquireBy)
	permit, err := r.quota.Acquire(acquireCtx, q.ask)
	cancel()
	if err != nil {
		return answer{}, refusalOf(err)
	}
	report, ok := rt.breaker.allow()
	if !ok {
		permit.Return()
		until, _ := rt.breaker.ready()
		return answer{}, refused(enrich.ReasonBreakerOpen, until)
	}
	began := time.Now()
	deadline := began.Add(rt.vendor.timeout)
	if q.deadline.Before(deadline) {
		deadline = q.deadline
	}
	callCtx, cancel := context.WithDeadline(ctx, deadline)
	reply := rt.vendor.call(callCtx, q.query)
	ended := callCtx.Err() != nil
	cancel()
	a := answer{reply: reply, began: began, took: time.Since(began)}

	verdict := verdictOn(reply.Outcome)
	if errors.Is(reply.Err, errPanicked) {
		r.log.Error("a provider's code panicked", "provider", rt.name, "error", reply.Err)
	}
	if errors.Is(verdict, failing) {
		short := deadline.Sub(began) < min(q.fair, rt.vendor.timeout)
		a.cut = errors.Is(ctx.Err(), context.Canceled) || ended && short
		if a.cut {
			a.reply.Outcome, verdict = enrich.Timeout, neutral
		}
	}
	report(verdict)
	permit.Settle(q.book(a.reply.Outcome, reply.Charge), reply.Limits)
	return a, nil
}

// refusalOf returns the refusal in an error of Acquire.
func refusalOf(err error) *quota.Refusal {
	var refusal *quota.Refusal
	if !errors.As(err, &refusal) {
		refusal = refused(enrich.ReasonOutOfTime, time.Time{})
	}
	return refusal
}

// callGrace is how long after its deadline a call is waited for, which ends by
// itself unless something is badly wrong.
const callGrace = 20 * time.Millisecond

var (
	errPanicked  = errors.New("the provider's code panicked")
	errAbandoned = errors.New("the call did not end with its deadline")
)

// call makes the call and returns at its deadline come what may: a call that
// panics, exits or hangs is a reply like any other.
func (v vendor) call(ctx context.Context, query providers.Query) providers.Reply {
	replies := make(chan providers.Reply, 1)
	go func() {
		reply := providers.Reply{Outcome: enrich.Malformed, Err: errPanicked}
		defer func() {
			// What was thrown may hold what the vendor sent; the stack does not.
			if thrown := recover(); thrown != nil {
				reply.Err = fmt.Errorf("%w: %T\n%s", errPanicked, thrown, debug.Stack())
			}
			replies <- reply
		}()
		reply = v.Lookup(ctx, query)
	}()
	select {
	case reply := <-replies:
		return reply
	case <-ctx.Done():
	}
	select {
	case reply := <-replies:
		return reply
	case <-time.After(callGrace):
		return providers.Reply{Outcome: enrich.Timeout, Err: errAbandoned}
	}
}
