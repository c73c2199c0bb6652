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

// setPause closes the provider for all replicas. The longer of two pauses holds.
// A pause because the vendor refused what the account allowed makes the guard
// grow, once for all refusals of that time.
func (s *scheduler) setPause(p Pause) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	p = p.clamp(now, s.config.MaxPause)
	if !p.active(now) || s.pause.active(now) && !p.longer(s.pause) {
		return
	}
	surprise := p.surprises() && !s.pause.active(now)
	if surprise {
		s.observer.Surprised(s.provider)
		if s.guard.grow(now) {
			s.source.setGuard(now, s.guard.now)
		}
	}
	s.source.pause(now, p, surprise)
	s.shut(p)
	s.dispatch(now)
}

// shut begins a pause: who cannot wait that long is refused.
func (s *scheduler) shut(p Pause) {
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

// resume ends a pause of whatever reason, for all replicas.
func (s *scheduler) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if !s.pause.active(now) {
		return
	}
	s.open()
	s.source.resume(now)
	s.dispatch(now)
}
