package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// source is where a provider's calls come from. The scheduler's lock guards it.
type source interface {
	// begin starts a pass: who asks first in it goes before who asks later.
	begin()
	// take spends one call of the class, from all limits or from none. If none
	// can begin now, ok is false and wake is when to ask again; before not, if
	// it is set, none can begin unless something is given back.
	take(now time.Time, c *class, d demand) (what spent, wake, not time.Time, ok bool)
	// finish ends a call. One that was never sent goes back.
	finish(now time.Time, what spent, sent bool, states []enrich.LimitState)
	// left is told that a call left late.
	left(now time.Time, what spent, at time.Time)
	// rest is told that nobody may call.
	rest(now time.Time)
	// idle is told that nobody waits, and says when it wants to hear so again.
	idle(now time.Time) (wake time.Time)
	// estimate is when the last of so many calls can begin, as far as is known.
	estimate(now time.Time, c *class, calls int64, d demand) time.Time
	// fits tells whether such a call can ever begin.
	fits(c *class) bool
	// apply changes the limits; what was spent stays spent.
	apply(now time.Time, rules []rule)
	// setGuard changes the guard.
	setGuard(now time.Time, guard time.Duration)
	// pause and resume are told what holds for all replicas.
	pause(now time.Time, p Pause, surprise bool)
	resume(now time.Time)
	// close ends what the source has under way.
	close()
	// levels describes the limits.
	levels(now time.Time) []Level
}

// use is how many units of a limit a call takes.
type use struct {
	limit *limit
	units int64
}

// limit is one limit's window and who holds it in this pass.
type limit struct {
	window
	rule rule
	pass int       // in which it is held for an earlier asker
	till time.Time // until when

	total    int64 // units spent since the process began
	stored   int64 // of them when the state file was last written
	promised int64 // how far total may go before it is written again
	largest  int64 // units that one call took
}

// local is a source that counts by itself.
type local struct {
	limits  []*limit
	guard   time.Duration
	maxCall time.Duration
	age     int // how often the limits changed
	pass    int
	probe   probe
	// save asks for the state file to be written; nil: there is none.
	save func()
}

var _ source = (*local)(nil)

func newLocal(now time.Time, rules []rule, guard, maxCall time.Duration) *local {
	l := &local{guard: guard, maxCall: maxCall}
	l.apply(now, rules)
	return l
}

func (l *local) begin() { l.pass++ }

func (l *local) uses(c *class) []use {
	if c.age == l.age {
		return c.uses
	}
	c.age, c.uses = l.age, nil
	for _, limit := range l.limits {
		if units := limit.rule.units(c.operation, c.entities); units > 0 {
			c.uses = append(c.uses, use{limit, units})
		}
	}
	return c.uses
}

func (l *local) take(now time.Time, c *class, d demand) (what spent, wake, not time.Time, ok bool) {
	uses := l.uses(c)
	if at := l.probe.next(now); at.After(now) {
		return spent{}, at, at, false
	}
	wake = now
	for _, use := range uses {
		at, sure := use.limit.ready(now, use.units, d)
		if use.limit.pass == l.pass && use.limit.till.After(now) {
			at, sure = use.limit.till, false
		} else if at.After(now) && at.Before(never) && use.limit.gathers() {
			// Smaller calls behind this one would eat up what it waits for.
			use.limit.pass, use.limit.till = l.pass, at
		}
		if at.After(wake) {
			wake = at
		}
		if sure && at.After(now) && at.After(not) {
			not = at
		}
	}
	if wake.After(now) {
		return spent{}, wake, not, false
	}
	if l.save != nil && !l.promised(uses) {
		return spent{}, never, time.Time{}, false
	}
	for _, use := range uses {
		use.limit.take(now, use.units, d)
		use.limit.total += use.units
	}
	l.probe.took(now)
	return spent{at: now, uses: uses}, now, not, true
}

// promised tells whether the state file allows for the call, and has it written
// again before it does not.
func (l *local) promised(uses []use) bool {
	ok, soon := true, false
	for _, use := range uses {
		if limit := use.limit; limit.rule.lasts() {
			limit.largest = max(limit.largest, use.units)
			left := limit.promised - limit.total - use.units
			ok = ok && left >= 0
			soon = soon || left <= (limit.promised-limit.stored)/2
		}
	}
	if soon {
		l.save()
	}
	return ok
}

func (l *local) finish(now time.Time, s spent, sent bool, states []enrich.LimitState) {
	for _, use := range s.uses {
		use.limit.finish(now, s.at, use.units, sent)
	}
	l.probe.ended(s.at)
	for _, state := range states {
		for _, limit := range l.limits {
			if limit.rule.Name == state.Name {
				limit.lower(now, state)
			}
		}
	}
}

func (l *local) left(now time.Time, s spent, at time.Time) {
	for _, use := range s.uses {
		use.limit.late(now, s.at, at, use.units)
	}
}

func (l *local) estimate(now time.Time, c *class, calls int64, d demand) time.Time {
	latest := l.probe.next(now)
	for _, use := range l.uses(c) {
		if at := use.limit.estimate(now, use.units*calls, d); at.After(latest) {
			latest = at
		}
	}
	return latest
}

func (l *local) fits(c *class) bool {
	for _, use := range l.uses(c) {
		if use.units > use.limit.rule.capacity() {
			return false
		}
	}
	return true
}

func (l *local) apply(now time.Time, rules []rule) {
	old := l.limits
	l.age++
	l.limits = nil
	for _, r := range rules {
		l.limits = append(l.limits, succeed(now, old, r, l.guard, l.maxCall))
	}
}

func (l *local) setGuard(now time.Time, guard time.Duration) {
	l.guard = guard
	for _, limit := range l.limits {
		limit.window.apply(now, limit.rule, guard)
	}
}

func (l *local) rest(time.Time) {}

func (l *local) idle(time.Time) time.Time { return never }
func (l *local) close()                   {}

func (l *local) pause(_ time.Time, p Pause, _ bool) {
	l.probe = probe{due: p.probed()}
	l.keep()
}

func (l *local) resume(time.Time) {
	l.probe = probe{}
	l.keep()
}

// keep has the state file written, if there is one.
func (l *local) keep() {
	if l.save != nil {
		l.save()
	}
}

// succeed returns the limit for a rule: the old limit of that name, or of
// another name with the same meaning, goes on with what was spent. One whose
// shape changed goes on with what was left.
func succeed(now time.Time, old []*limit, r rule, guard, maxCall time.Duration) *limit {
	var before *limit
	for _, o := range old {
		if o.rule.Name == r.Name || before == nil && o.rule.id() == r.id() {
			before = o
		}
	}
	switch {
	case before == nil:
		return &limit{rule: r, window: newWindow(now, r, guard, maxCall)}
	case before.rule.Shape == r.Shape && before.rule.Unit == r.Unit:
		before.window.apply(now, r, guard)
		before.rule = r
		return before
	}
	after := &limit{rule: r, window: newWindow(now, r, guard, maxCall)}
	after.lower(now, enrich.LimitState{Name: r.Name, Limit: -1, Remaining: before.level(now).Left})
	return after
}

func (l *local) levels(now time.Time) []Level {
	levels := make([]Level, len(l.limits))
	for i, limit := range l.limits {
		levels[i] = limit.level(now)
	}
	return levels
}
