// Package strict judges calls as a vendor without mercy does: exact limits of
// every shape, several at once, refusals that count, and bans.
//
// It is what our own pacing is measured against, so it shares no code with it
// and stays simple enough to be believed. A [Judge] never reads a clock: the
// caller says when a call arrived, by the vendor's clock.
package strict

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// Judge decides for one account which calls its limits admit. All limits must
// agree; a call is taken from all of them or, refused, from those alone that
// count refusals. It is safe for concurrent use.
type Judge struct {
	mu       sync.Mutex
	limiters []named
	bans     []*ban
	latest   time.Time // of all calls: a limit's time never runs back
}

// named is a limiter with what tells when it applies.
type named struct {
	limiter
	Limit
}

// limiter is one limit's memory.
type limiter interface {
	// ready is the first moment, not before now, at which n units fit if
	// nothing else arrives; zero when no moment can be told.
	ready(now time.Time, n int64) time.Time
	// take books n units at now. It is called for refused calls too where
	// those count, and then takes what is there.
	take(now time.Time, n int64)
	// release gives back what a call that has ended held.
	release(n int64)
	// left is how many units fit now, and when that changes at the latest.
	left(now time.Time) (units int64, reset time.Time)
}

// Call is what is judged.
type Call struct {
	Operation string
	// Entities is how many subjects the call asks for; 0 counts as 1.
	Entities int64
}

// Verdict is what was decided about a call.
type Verdict struct {
	Admitted bool
	// Banned is true when a ban refused the call, whatever the limits say.
	Banned bool
	// Limit is the name of the limit, or ban, that keeps the call out longest.
	Limit string
	// ReadyAt is the first moment at which the same call would be admitted if
	// nothing else arrives; zero when no moment can be told (a concurrency
	// limit, or more units than the limit ever has).
	ReadyAt time.Time
}

// State is what one limit has left.
type State struct {
	Limit
	Remaining int64
	// ResetAt is when Remaining is next raised, or full again for a bucket;
	// zero for concurrency.
	ResetAt time.Time
}

// NewJudge returns a judge of fresh limits, or every problem of the limits and
// bans.
func NewJudge(limits []Limit, bans []Ban) (*Judge, error) {
	if err := Validate(limits, bans); err != nil {
		return nil, err
	}
	j := &Judge{}
	for _, l := range limits {
		j.limiters = append(j.limiters, named{l.limiter(), l})
	}
	for _, b := range bans {
		j.bans = append(j.bans, newBan(b))
	}
	return j, nil
}

// Admit judges a call that arrives at now. An admitted call must be ended with
// Done.
func (j *Judge) Admit(call Call, now time.Time) Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	now = j.forward(now)
	verdict := j.judge(call, now)
	if verdict.Banned {
		return verdict
	}
	for _, l := range j.limiters {
		if l.applies(call) && (verdict.Admitted || l.CountRefused && l.Shape != Concurrency) {
			l.take(now, l.units(call))
		}
	}
	if !verdict.Admitted {
		j.offend("rate_limited", now)
	}
	return verdict
}

// Ask judges a call as Admit does, but books nothing.
func (j *Judge) Ask(call Call, now time.Time) Verdict {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.judge(call, j.forward(now))
}

func (j *Judge) judge(call Call, now time.Time) Verdict {
	for _, b := range j.bans {
		if now.Before(b.until) {
			return Verdict{Banned: true, Limit: "ban", ReadyAt: b.until}
		}
	}
	verdict := Verdict{Admitted: true}
	for _, l := range j.limiters {
		if !l.applies(call) {
			continue
		}
		ready := l.ready(now, l.units(call))
		if ready.Equal(now) {
			continue
		}
		if verdict.Admitted || ready.IsZero() || !verdict.ReadyAt.IsZero() && ready.After(verdict.ReadyAt) {
			verdict = Verdict{Limit: l.Name, ReadyAt: ready}
		}
	}
	return verdict
}

// Done ends an admitted call.
func (j *Judge) Done(call Call) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, l := range j.limiters {
		if l.applies(call) {
			l.release(l.units(call))
		}
	}
}

// Offend books an offence that is not a full limit ("auth_failed",
// "invalid_input") against the bans that watch it.
func (j *Judge) Offend(offence string, now time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.offend(offence, j.forward(now))
}

// forward puts a call that was overtaken on its way here beside the one that
// overtook it.
func (j *Judge) forward(now time.Time) time.Time {
	if now.Before(j.latest) {
		return j.latest
	}
	j.latest = now
	return now
}

func (j *Judge) offend(offence string, now time.Time) {
	for _, b := range j.bans {
		b.offend(offence, now)
	}
}

// States tells what each limit that applies to the operation has left, in the
// order of the limits.
func (j *Judge) States(operation string, now time.Time) []State {
	j.mu.Lock()
	defer j.mu.Unlock()
	now = j.forward(now)
	states := make([]State, 0, len(j.limiters))
	for _, l := range j.limiters {
		if l.applies(Call{Operation: operation}) {
			units, reset := l.left(now)
			states = append(states, State{Limit: l.Limit, Remaining: max(units, 0), ResetAt: reset})
		}
	}
	return states
}

func (l named) applies(call Call) bool {
	return len(l.Operations) == 0 || slices.Contains(l.Operations, call.Operation)
}

func (l named) units(call Call) int64 {
	if l.Unit == Entities {
		return max(call.Entities, 1)
	}
	return 1
}

func (l Limit) limiter() limiter {
	switch l.Shape {
	case TokenBucket:
		return newBucket(l)
	case Fixed, Day, Month:
		return newWindow(l)
	case Sliding:
		return newLog(l)
	case Concurrency:
		return &atOnce{most: l.Amount}
	}
	panic(fmt.Sprintf("strict: a limit of shape %q was not validated", l.Shape))
}

// Banned tells whether a ban holds at now, and until when.
func (j *Judge) Banned(now time.Time) (until time.Time, banned bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	now = j.forward(now)
	for _, b := range j.bans {
		if now.Before(b.until) {
			return b.until, true
		}
	}
	return time.Time{}, false
}
