package router

import (
	"context"
	"log/slog"
	"math"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

// ride is a walk on the first leg of its plan: it asks the provider, repeats,
// polls and goes on as the reactions say, until others are to be asked.
type ride struct {
	*walk
	leg leg
	*progress
	// until is when this leg must have ended, earlier than the walk's deadline
	// while others may follow.
	until time.Time
	// idleSince is when the leg began or its last exchange ended.
	idleSince time.Time
}

func (w *walk) ride(l leg) {
	if l.inFlight {
		w.await()
		return
	}
	now := time.Now()
	r := ride{walk: w, leg: l, progress: &w.progress[l.index], until: w.deadline, idleSince: now}
	if l.others {
		ready := now
		if l.readyAt.After(now) {
			ready = l.readyAt
		}
		r.until = w.deadline.Add(-min(w.config.Keep, w.deadline.Sub(ready)/2))
	}
	if r.job.step == nil && !r.begin() {
		return
	}
	if r.repeats != "" {
		r.observer.Retried(r.call.name, r.repeats)
		r.repeats = ""
	}
	for wait := time.Until(r.notBefore); ; {
		sent := r.next(wait)
		if sent == nil {
			return
		}
		reply, ok := sent.within(r.until)
		if !ok {
			r.outlasted(sent)
			return
		}
		var goesOn bool
		if wait, goesOn = r.land(sent, reply); !goesOn {
			return
		}
	}
}

// begin opens a look-up and takes its price from the purse. It fails when the
// request's other subject was faster; the next plan says so.
func (r *ride) begin() bool {
	r.job = job{wanted: r.leg.wanted, price: r.call.priceOf(r.leg.wanted)}
	if !r.ask.Purse.Reserve(r.job.price) {
		r.job = job{}
		return false
	}
	if r.failures == 0 {
		r.call.retries.firstCall()
	}
	return true
}

// next makes the leg's next exchange after a wait; nil when it was not made and
// the walk must plan again.
func (r *ride) next(wait time.Duration) *sent {
	ctx, release := r.untilNews()
	defer release()
	defer r.tire()
	until := time.Now().Add(wait)
	if !sleep(ctx, wait) {
		if r.ctx.Err() != nil {
			r.leave(reaction{reason: enrich.ReasonOutOfTime})
		} else {
			r.putOff(until)
		}
		return nil
	}
	question := r.question()
	sent, refusal := r.send(ctx, r.call.route, question)
	switch {
	case refusal == nil:
	case ctx.Err() != nil && r.ctx.Err() == nil:
		r.putOff(time.Time{})
	default:
		r.refused(question, refusal)
	}
	return sent
}

// putOff closes the look-up, unless it is under way, until another plan.
func (r *ride) putOff(until time.Time) {
	r.notBefore = until
	if r.job.step == nil {
		r.end()
	}
}

// question is the leg's next exchange.
func (r *ride) question() question {
	wanted := make([]enrich.Attribute, 0, r.job.wanted.size())
	for bit := range r.job.wanted.all {
		wanted = append(wanted, attributes[r.call.kind][bit])
	}
	const atOnce = 100 * time.Millisecond // it may take a trip to Redis to take a token that is there
	left := time.Until(r.until) - r.config.MinAttempt
	return question{
		query:     providers.Query{Subject: r.ask.Subject, Wanted: wanted, Operation: r.call.operation, IdempotencyKey: r.ask.IdempotencyKey, Step: r.job.step},
		ask:       r.quotaAsk(r.progress),
		acquireBy: time.Now().Add(min(max(r.bearable(), atOnce), left)),
	}
}

// bearable is how long from now on the leg's provider may be waited for instead
// of others: patience begins when one of them can be asked.
func (r *ride) bearable() time.Duration {
	if !r.leg.others {
		return math.MaxInt64
	}
	return max(time.Until(r.leg.othersAt), 0) + r.patience(r.progress)
}

// tire takes the wait that ends now from the patience, as far as the next exchange
// was due and another could have been asked meanwhile.
func (r *ride) tire() {
	if r.leg.others {
		r.waited += max(min(time.Since(r.idleSince), time.Since(r.job.due), time.Since(r.leg.othersAt)), 0)
	}
}

// refused takes in that the vendor was not called. A quota or breaker that names no
// later time than was waited for has broken what its forecast promised, as one does
// that has not heard of other replicas' calls yet. It is asked again after a while,
// so that others go first whose patience this was, and nobody spins.
func (r *ride) refused(q question, refusal *quota.Refusal) {
	until := refusal.ReadyAt
	if !until.After(q.acquireBy) {
		r.broken++
		if backoff := time.Now().Add(r.config.Backoff.before(r.broken)); backoff.After(until) {
			until = backoff
		}
	}
	r.putOff(until)
	r.debug("not called", r.call, slog.String("reason", refusal.Reason), slog.Time("ready_at", refusal.ReadyAt))
}

// attempted notes a call in the attempts.
func (r *ride) attempted(s *sent, outcome enrich.Outcome, charge enrich.Charge) enrich.Attempt {
	now := time.Now()
	attempt := enrich.Attempt{
		Provider: r.call.name,
		Outcome:  outcome,
		Waited:   s.began.Sub(r.idleSince),
		Took:     now.Sub(s.began),
		Charged:  charge,
	}
	r.idleSince = now
	r.attempts = append(r.attempts, attempt)
	return attempt
}

// record notes an exchange that has ended, and tells observers.
func (r *ride) record(s *sent, reply providers.Reply) {
	attempt := r.attempted(s, reply.Outcome, reply.Charge)
	r.observer.Called(Exchange{Attempt: attempt, Operation: r.job.operation(r.call), Account: r.ask.Account.Name, Lane: r.ask.Lane})
	for _, attribute := range reply.Drift {
		r.observer.Drifted(r.call.name, attribute)
	}
	if !reply.Outcome.Authoritative() && reply.Outcome != enrich.Pending {
		r.failures++
	}
	r.debug("answered", r.call, slog.String("outcome", string(reply.Outcome)), slog.Duration("waited", attempt.Waited),
		slog.Duration("took", attempt.Took), slog.Any("error", reply.Err))
}

// react decides on a failure with one of the provider's repeats in hand, so that
// callers side by side cannot spend the same one.
func (r *ride) react(reply providers.Reply) reaction {
	s := r.situation(reply)
	if !reply.Outcome.Failure() {
		return react(s)
	}
	if _, ready := r.call.breaker.ready(); ready {
		s.retry = r.call.retries.take()
	}
	do := react(s)
	if s.retry && do.move != again && do.move != yield {
		r.call.retries.putBack()
	}
	return do
}

func (r *ride) situation(reply providers.Reply) situation {
	return situation{
		reply:               reply,
		poll:                r.job.step != nil && r.job.step.Poll,
		failures:            r.failures,
		attempts:            r.config.Attempts,
		resubmitted:         r.resubmitted,
		now:                 time.Now(),
		latest:              r.until.Add(-r.config.MinAttempt),
		last:                r.deadline.Add(-r.config.MinAttempt),
		patience:            r.bearable(),
		backoff:             r.config.Backoff.before(r.failures),
		random:              r.random(),
		pollEvery:           r.config.PollEvery,
		pause:               r.call.vendor.pause,
		block:               r.config.BlockPause,
		askBeyondSuppressed: r.config.AskBeyondSuppressed,
	}
}

// apply carries a reaction out and tells whether the leg goes on after its
// wait.
func (r *ride) apply(do reaction, reply providers.Reply) (goesOn bool) {
	r.close(do)
	r.debug(string(do.move), r.call, slog.String("reason", do.reason), slog.Duration("wait", do.wait))
	switch do.move {
	case settle:
		r.learn(reply)
		r.end()
		return false
	case stop:
		r.learn(reply)
		r.end()
		r.stopped = do.reason
		r.log.Info("nobody else is asked", "provider", r.call.name, "reason", do.reason)
		return false
	case follow:
		r.proceed(reply.Next, do.wait)
		return true
	case park:
		r.proceed(reply.Next, do.wait)
		r.notBefore = r.job.due
		return false
	case again:
		r.observer.Retried(r.call.name, do.reason)
		return true
	case yield:
		r.repeats = do.reason
		r.putOff(time.Now().Add(do.wait))
		return false
	case anew:
		r.resubmitted = true
		r.observer.Retried(r.call.name, do.reason)
		r.end()
		return r.begin()
	default:
		r.leave(do)
		return false
	}
}

// proceed goes on with the look-up. It is paid: it does not lose to another for what
// was waited for exchanges that were made.
func (r *ride) proceed(next *providers.Step, wait time.Duration) {
	r.job.step, r.job.due, r.waited = next, time.Now().Add(wait), 0
}

// close shuts the provider, one of its operations, or it for this subject.
func (r *ride) close(do reaction) {
	if do.pause != "" {
		r.quota.Pause(r.call.name, do.until, do.pause)
		r.observer.Paused(r.call.name, do.until, do.pause)
		r.debug("paused", r.call, slog.String("reason", string(do.pause)), slog.Time("until", do.until))
	}
	if do.forbid {
		r.call.learned.forbidden.Store(true)
		do.pause = enrich.PausedByScope
	}
	if do.remember {
		r.refusals.add(r.call.name, r.ask.Subject)
	}
	if do.forbid || do.pause != "" && do.until.IsZero() {
		r.log.Error("a provider needs the operator", "provider", r.call.name, "operation", r.call.operation, "reason", string(do.pause))
	}
}

// leave gives up on the call for this request.
func (r *ride) leave(do reaction) {
	r.spent, r.readyAt, r.pause = do.reason, do.until, do.pause
	if do.reason == string(enrich.Temporary) {
		r.readyAt = time.Now().Add(do.wait)
	}
	if until, ok := r.call.breaker.ready(); !ok && until.After(r.readyAt) {
		r.readyAt = until
	}
	if r.job.step != nil {
		r.job.unknown = true // a job that is left behind may still be charged
	}
	r.end()
}

// end closes the look-up: what it did not charge goes back to the purse and the
// caps.
func (r *ride) end() {
	r.job.settle()
	r.ask.Purse.Settle(r.job.price, r.job.charge())
	r.job = job{}
}

func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
