package quota

import (
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Pause is why and until when a provider may not be called at all.
type Pause struct {
	Reason enrich.PauseReason
	// Until; zero: until somebody resumes the provider.
	Until time.Time
}

// quotaPause is the longest that a spent allowance closes a provider: a month
// and a day.
const quotaPause = 32 * 24 * time.Hour

// active tells whether the pause holds.
func (p Pause) active(now time.Time) bool {
	return p.Reason != "" && (p.Until.IsZero() || now.Before(p.Until))
}

// longer tells whether the pause holds on after the other.
func (p Pause) longer(other Pause) bool {
	return p.Until.IsZero() || !other.Until.IsZero() && p.Until.After(other.Until)
}

// clamp shortens a pause that a vendor asks for to what can be meant. Only an
// operator's act ends a pause without an end, so no hint can make one.
func (p Pause) clamp(now time.Time, most time.Duration) Pause {
	switch p.Reason {
	case enrich.PausedByOperator, enrich.PausedByAuth, enrich.PausedByScope:
		return p
	case enrich.PausedByQuota:
		if p.Until.IsZero() {
			return p
		}
		most = quotaPause
	}
	if latest := now.Add(most); p.Until.IsZero() || p.Until.After(latest) {
		p.Until = latest
	}
	return p
}

// surprises tells whether the pause means that the vendor refused a call which
// the account allowed.
func (p Pause) surprises() bool {
	return p.Reason == enrich.PausedByHint || p.Reason == enrich.PausedByDefault
}

// probed tells whether the pause ends with one call over all replicas, before
// others follow: nobody knows whether the vendor's hint was right.
func (p Pause) probed() bool { return p.surprises() || p.Reason == enrich.PausedByBlock }

const (
	// probeFor is how long after the one call others follow. A refusal comes
	// sooner, and means that the pause was too short.
	probeFor = 500 * time.Millisecond
	// leastAgain is the least pause after the first refused probe; it doubles
	// with every further one, up to mostAgain. A hint may ask for more.
	leastAgain = time.Second
	mostAgain  = 5 * time.Second
)

// probe is the one call after a pause.
type probe struct {
	due   bool      // the pause ends with one
	begun time.Time // zero: not yet
}

// next is when the next call may begin, now or later.
func (p *probe) next(now time.Time) time.Time {
	if follow := p.begun.Add(probeFor); p.due && !p.begun.IsZero() && follow.After(now) {
		return follow
	}
	return now
}

// took notes a call.
func (p *probe) took(now time.Time) {
	if p.due && p.begun.IsZero() {
		p.begun = now
	} else if !p.next(now).After(now) {
		*p = probe{}
	}
}

// ended notes the end of a call that began then. One that was refused has begun
// another pause before.
func (p *probe) ended(then time.Time) {
	if p.due && p.begun.Equal(then) {
		*p = probe{}
	}
}

// strikes counts the refused probes in a row.
type strikes struct {
	count int
	until time.Time // the end of the last pause
}

// again tells whether a refusal that comes now is that of a probe.
func (s *strikes) again(now time.Time) bool {
	return !now.Before(s.until) && now.Sub(s.until) < probeFor
}

// least is when a pause that begins now may end.
func (s *strikes) least(now time.Time) time.Time {
	if !s.again(now) {
		return now
	}
	return now.Add(min(leastAgain<<min(s.count, 8), mostAgain))
}

// note counts a pause that begins now, or is made longer.
func (s *strikes) note(now time.Time, p Pause) {
	if !p.probed() {
		return
	}
	if s.again(now) {
		s.count++
	} else if !now.Before(s.until) {
		s.count = 0
	}
	s.until = p.Until
}

// setPause closes the provider for all replicas. The longer of two pauses holds.
// A pause because the vendor refused what the account allowed makes the guard
// grow, once for all refusals of that time. That of a probe does not: no edge of
// a window explains it, and the pause grows instead.
func (s *scheduler) setPause(p Pause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if least := s.strikes.least(now); p.probed() && !p.Until.IsZero() && p.Until.Before(least) {
		p.Until = least
	}
	p = p.clamp(now, s.config.MaxPause)
	if !p.active(now) || s.pause.active(now) && !p.longer(s.pause) {
		return
	}
	surprise := p.surprises() && !s.pause.active(now)
	if surprise {
		s.observer.Surprised(s.provider)
	}
	surprise = surprise && !s.strikes.again(now)
	if surprise && s.guard.grow(now) {
		s.source.setGuard(now, s.guard.now)
	}
	s.source.pause(now, p, surprise)
	s.shut(now, p)
	s.dispatch(now)
}

// shut begins a pause: who cannot wait that long is refused.
func (s *scheduler) shut(now time.Time, p Pause) {
	s.strikes.note(now, p)
	s.pause = p
	s.observer.Paused(s.provider, p.Reason, p.Until)
	for _, q := range slices.Clone(s.queues) {
		for w := q.hopeless(p); w != nil; w = q.hopeless(p) {
			s.refuse(w, &Refusal{Provider: s.provider, Reason: enrich.ReasonPaused, ReadyAt: p.Until, Pause: p.Reason})
		}
	}
}

// open ends a pause.
func (s *scheduler) open() {
	s.pause = Pause{}
	s.observer.Paused(s.provider, "", time.Time{})
}

// hopeless is a waiter that must leave before the pause ends; nil: there is
// none.
func (q *queue) hopeless(p Pause) *waiter {
	switch {
	case q.waiting == 0:
		return nil
	case p.Until.IsZero():
		return q.head()
	case len(q.deadlines) > 0 && q.deadlines[0].deadline.Before(p.Until):
		return q.deadlines[0]
	}
	return nil
}

// resume ends a pause for all replicas; if reasons are named, only one for any of
// them.
func (s *scheduler) resume(reasons []enrich.PauseReason) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.pause.active(now) || len(reasons) > 0 && !slices.Contains(reasons, s.pause.Reason) {
		return
	}
	s.open()
	s.source.resume(now)
	s.dispatch(now)
}
