package router

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"

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
	// acquireBy is until when a token may be waited for.
	acquireBy time.Time
}

// sent is a call under way, which nothing but its own timeout ends: the vendor
// may charge for it whoever still waits. It belongs to the walk that sent it,
// and to a [late] from when that can wait no longer.
type sent struct {
	replies chan providers.Reply
	// ctx is the call's own; only [Router.Close] cancels it before it has ended.
	ctx    context.Context
	cancel context.CancelFunc
	permit *quota.Permit
	report func(verdict)
	span   trace.Span
	began  time.Time
}

// send begins one exchange: quota around breaker around call. The refusal is set
// when the vendor was not called; whatever was taken has been given back.
func (r *Router) send(ctx context.Context, rt *route, q question) (*sent, *quota.Refusal) {
	permit, refusal := r.acquire(ctx, q)
	if refusal != nil {
		return nil, refusal
	}
	report, ok := rt.breaker.allow()
	if !ok {
		permit.Return()
		until, _ := rt.breaker.ready()
		return nil, refused(enrich.ReasonBreakerOpen, until)
	}
	s := &sent{permit: permit, report: report, began: time.Now()}
	ctx, s.span = startCall(ctx, q.ask)
	ctx = httptrace.WithClientTrace(context.WithoutCancel(ctx), &httptrace.ClientTrace{WroteRequest: s.wrote})
	s.ctx, s.cancel = context.WithTimeout(ctx, rt.vendor.timeout)
	s.replies = r.begin(s.ctx, rt.vendor, q.query)
	return s, nil
}

// wrote tells the quota when the request left: on a busy machine, or behind a
// connection that had to be made, that is later than it was allowed.
func (s *sent) wrote(request httptrace.WroteRequestInfo) {
	if request.Err == nil {
		s.permit.Left(time.Now())
	}
}

func (r *Router) acquire(ctx context.Context, q question) (*quota.Permit, *quota.Refusal) {
	if time.Now().After(q.acquireBy) {
		return nil, refused(enrich.ReasonOutOfTime, time.Time{})
	}
	soon := &latent{Context: ctx, deadline: q.acquireBy}
	defer soon.release()
	ctx, span := startWait(soon, q.ask)
	permit, err := r.quota.Acquire(ctx, q.ask)
	if err == nil {
		span.End()
		return permit, nil
	}
	refusal := refusalOf(err)
	endWith(span, "reason", refusal.Reason)
	return nil, refusal
}

// refusalOf returns the refusal in an error of Acquire.
func refusalOf(err error) *quota.Refusal {
	var refusal *quota.Refusal
	if !errors.As(err, &refusal) {
		refusal = refused(enrich.ReasonOutOfTime, time.Time{})
	}
	return refusal
}

// callGrace is how long after its timeout a call is waited for, which ends by
// itself unless something is badly wrong.
const callGrace = 20 * time.Millisecond

var (
	errPanicked  = errors.New("the provider's code panicked")
	errAbandoned = errors.New("the call did not end with its deadline")
)

// begin makes the call. One that panics or exits is a reply like any other.
func (r *Router) begin(ctx context.Context, v vendor, query providers.Query) chan providers.Reply {
	replies := make(chan providers.Reply, 1)
	r.crew.Go(func() {
		reply := providers.Reply{Outcome: enrich.Malformed, Err: errPanicked}
		defer func() {
			// What was thrown may hold what the vendor sent; the stack does not.
			if thrown := recover(); thrown != nil {
				reply.Err = fmt.Errorf("%w: %T\n%s", errPanicked, thrown, debug.Stack())
			}
			replies <- reply
		}()
		reply = v.Lookup(ctx, query)
	})
	return replies
}

// within waits for the reply; ok is false when it did not come by then, though
// the call has time left.
func (s *sent) within(by time.Time) (reply providers.Reply, ok bool) {
	var hurry <-chan time.Time
	if timeout, _ := s.ctx.Deadline(); by.Before(timeout) {
		timer := time.NewTimer(time.Until(by))
		defer timer.Stop()
		hurry = timer.C
	}
	select {
	case reply = <-s.replies:
		return reply, true
	case <-hurry:
		return reply, false
	case <-s.ctx.Done():
		return s.overdue(), true
	}
}

// rest waits for the reply until the call must have ended.
func (s *sent) rest() providers.Reply {
	select {
	case reply := <-s.replies:
		return reply
	case <-s.ctx.Done():
		return s.overdue()
	}
}

// overdue is the reply of a call whose time is over; one that hangs even then is
// a reply too.
func (s *sent) overdue() providers.Reply {
	select {
	case reply := <-s.replies:
		return reply
	case <-time.After(callGrace):
		return providers.Reply{Outcome: enrich.Timeout, Err: errAbandoned}
	}
}

// causeOf is why a call failed, without the stack of a panic, which the log has
// already.
func causeOf(reply providers.Reply) error {
	if errors.Is(reply.Err, errPanicked) {
		return errPanicked
	}
	return reply.Err
}

// land ends an exchange: it gives the verdict, does what follows, and settles.
// It returns after which wait the leg goes on, if it does.
func (r *ride) land(s *sent, reply providers.Reply) (wait time.Duration, goesOn bool) {
	if errors.Is(reply.Err, errPanicked) {
		r.log.Error("a provider's code panicked", "provider", r.call.name, "error", reply.Err)
	}
	verdict := verdictOn(reply.Outcome)
	if errors.Is(verdict, failing) && errors.Is(s.ctx.Err(), context.Canceled) {
		verdict = neutral // we ended it, the vendor did not fail
	}
	s.cancel()
	if errors.Is(verdict, failing) {
		r.call.breaker.blame(causeOf(reply))
	}
	s.report(verdict)
	endWith(s.span, "outcome", string(reply.Outcome))
	first := r.job.step == nil
	r.job.book(reply.Outcome, reply.Charge)
	r.record(s, reply)
	do := r.react(reply)
	goesOn = r.apply(do, reply)
	// Last, so that who waits for this call's place finds the provider paused.
	switch {
	case !first:
		s.permit.Settle(enrich.KnownCharge(0), reply.Limits) // the job's first permit has the money
	case r.job.step != nil:
		r.job.permit = s.permit
		s.permit.Free(reply.Limits)
	default:
		s.permit.Settle(reply.Charge, reply.Limits)
	}
	return do.wait, goesOn
}
