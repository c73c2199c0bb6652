package router

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// move is what a walk does after an exchange.
type move string

// The moves.
const (
	settle move = "settle" // the provider has answered: go on with what is still missing
	again  move = "again"  // make the same exchange once more
	follow move = "follow" // go on with the look-up: its next step or poll
	anew   move = "anew"   // begin the look-up from the start
	park   move = "park"   // ask others first, then go on with the job under way
	yield  move = "yield"  // ask others first, then perhaps this one
	leave  move = "leave"  // do not ask it again for this request
	stop   move = "stop"   // ask nobody any more
)

// situation is all that a reaction depends on.
type situation struct {
	reply providers.Reply
	// poll tells that the exchange asked for a job under way.
	poll bool
	// failures are this request's failed or refused exchanges with the call,
	// this one included, and attempts how many it may have.
	failures, attempts int
	// resubmitted tells that an expired job was begun anew before.
	resubmitted bool
	// retry tells that a failed call may be repeated: the provider's retry ratio
	// has one left, and its breaker lets it pass.
	retry bool

	now time.Time
	// latest is when this leg's last exchange may begin, last when that of the
	// whole request may.
	latest, last time.Time
	// patience is the longest wait for a repeat that others are made to bear.
	patience time.Duration
	// backoff is the least wait before a repeat, random in [0, 1) how much of it
	// jitter adds.
	backoff time.Duration
	random  float64
	// pollEvery, pause and block are the waits that apply without a hint.
	pollEvery, pause, block time.Duration
	askBeyondSuppressed     bool
}

// reaction is what follows from an exchange.
type reaction struct {
	move   move
	reason string
	// wait before the move's next exchange; with yield and park before asking
	// this provider again.
	wait time.Duration
	// pause closes the provider until then (zero: until it is resumed), for this
	// reason; empty: no pause.
	pause enrich.PauseReason
	until time.Time
	// forbid closes the operation until the operator acts.
	forbid bool
	// remember that the provider refuses this subject.
	remember bool
}

// react decides what an outcome leads to. It is the whole table of reactions,
// drawn in docs/routing.md.
func react(s situation) reaction {
	r := reaction{reason: string(s.reply.Outcome)}
	if !s.reply.PauseUntil.IsZero() {
		r.pause, r.until = enrich.PausedByHint, s.reply.PauseUntil
	}
	switch s.reply.Outcome {
	case enrich.Hit, enrich.Partial, enrich.Miss:
		r.move = settle
	case enrich.Suppressed:
		r.move = stop
		if s.askBeyondSuppressed {
			r.move = settle
		}
	case enrich.Pending:
		s.goOn(&r)
	case enrich.RateLimited:
		s.closed(&r, enrich.PausedByDefault, s.now.Add(s.pause))
		s.repeat(&r, max(s.backoff, r.until.Sub(s.now)), true)
	case enrich.Blocked:
		r.move = leave
		s.closed(&r, enrich.PausedByBlock, s.now.Add(s.block))
		r.pause = enrich.PausedByBlock
	case enrich.QuotaExhausted:
		r.move = leave
		s.closed(&r, enrich.PausedByQuota, time.Time{})
		r.pause = enrich.PausedByQuota
	case enrich.AuthFailed:
		r.move, r.pause, r.until = leave, enrich.PausedByAuth, time.Time{}
	case enrich.Forbidden:
		r.move, r.forbid = leave, true
	case enrich.InvalidInput:
		r.move, r.remember = leave, true
	case enrich.Temporary:
		s.repeat(&r, max(s.backoff, hint(s.reply)), s.retry)
	case enrich.Timeout:
		r.move = leave
		if s.poll {
			// A poll costs nothing and its job is paid: ask again.
			s.repeat(&r, s.backoff, s.retry)
		}
	case enrich.Expired:
		r.move = leave
		if !s.resubmitted && s.fits(s.backoff, s.latest) {
			r.move, r.wait = anew, s.backoff
		}
	default: // malformed, and whatever nobody has heard of
		r.move, r.reason = leave, string(enrich.Malformed)
	}
	return r
}

// goOn follows a look-up that is not finished: further steps at once, polls
// after the hint or interval.
func (s situation) goOn(r *reaction) {
	next := s.reply.Next
	if next == nil {
		r.move, r.reason = leave, string(enrich.Malformed)
		return
	}
	switch {
	case !next.Poll:
	case s.reply.Wait != nil:
		r.wait = max(*s.reply.Wait, s.backoff)
	case next.Delay > 0:
		r.wait = next.Delay
	default:
		r.wait = s.pollEvery
	}
	useful := next.Deadline.IsZero() || !s.now.Add(r.wait).After(next.Deadline)
	switch {
	case useful && s.fits(r.wait, s.latest):
		r.move = follow
	case useful && s.fits(r.wait, s.last):
		r.move = park
	default:
		r.move, r.reason = leave, string(enrich.Timeout)
	}
}

// repeat asks again after the wait when that is short or nobody else could be
// asked, and fits; else lets others go first.
func (s situation) repeat(r *reaction, wait time.Duration, allowed bool) {
	r.wait = wait
	switch {
	case !allowed || s.failures >= s.attempts:
		r.move = leave
	case wait <= s.patience && s.fits(wait, s.latest):
		r.move, r.wait = again, s.jitter(wait)
	case s.fits(wait, s.last):
		r.move = yield
	default:
		r.move = leave
	}
}

// closed sets until when the answer closes the provider: an instant of the
// definition, the hint, the reset of an exhausted limit that the answer named,
// else the fallback.
func (s situation) closed(r *reaction, reason enrich.PauseReason, fallback time.Time) {
	switch reset := exhaustedUntil(s.reply.Limits); {
	case r.pause != "":
	case s.reply.Wait != nil:
		r.pause, r.until = enrich.PausedByHint, s.now.Add(*s.reply.Wait)
	case reset.After(s.now):
		r.pause, r.until = enrich.PausedByHint, reset
	default:
		r.pause, r.until = reason, fallback
	}
}

// jitter adds up to the backoff to a wait, as far as it fits, so that those who
// were refused together do not come back together.
func (s situation) jitter(wait time.Duration) time.Duration {
	jitter := time.Duration(s.random * float64(s.backoff))
	return wait + min(jitter, s.latest.Sub(s.now)-wait)
}

func (s situation) fits(wait time.Duration, latest time.Time) bool {
	return !s.now.Add(wait).After(latest)
}

// hint is the reply's hint, 0 without one.
func hint(reply providers.Reply) time.Duration {
	if reply.Wait == nil {
		return 0
	}
	return *reply.Wait
}

// exhaustedUntil is when the last of the exhausted limits is full again; zero
// when none is known to be exhausted.
func exhaustedUntil(limits []enrich.LimitState) (until time.Time) {
	for _, limit := range limits {
		if limit.Remaining == 0 && limit.ResetAt.After(until) {
			until = limit.ResetAt
		}
	}
	return until
}
