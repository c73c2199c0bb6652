package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// learn takes over an answer that came for the class.
func (s *shared) learn(began, now time.Time, o order, c *class, r reply, err error) {
	s.orders.last = now
	for i := range s.slots {
		if p := &s.slots[i]; err != nil {
			p.allowed = min(p.allowed, p.told)
		}
		s.slots[i].told = -1
	}
	if err != nil {
		s.orders.unsure, s.orders.asked = &o, c
		s.observer.Leased(s.provider, "failed")
		s.fail(now, c)
		s.host.learn(now, news{})
		s.reportLater(now)
		return
	}
	s.orders.unsure, s.orders.asked = nil, nil
	if s.away.end(now) {
		s.log.Info("quota: Redis answers again", "provider", s.provider)
	}
	p := &s.pool
	p.at, p.micros = began.Add(now.Sub(began)/2), r.now
	p.epoch, p.seen, p.share = r.epoch, r.seq, max(r.share, 1e-3)
	if o.age == s.age && len(r.lefts) == len(s.rules) && len(r.memos) == len(s.rules) && len(r.allowed) == len(s.rules) {
		p.lefts, p.memos = r.lefts, map[string]string{}
		for i, l := range o.Limits {
			p.memos[l.ID] = r.memos[i]
		}
		for i := range s.slots {
			if s.slots[i].local != nil {
				s.slots[i].allowed, s.slots[i].denied = r.allowed[i], r.allowed[i] < o.Places[i]
			}
		}
	}
	for i, a := range o.accounts {
		if i < len(r.spreads) {
			a.spread = float64(max(r.spreads[i], 1))
		}
	}
	if c != nil {
		s.learnBooked(now, o, c, r)
	}
	s.host.learn(now, s.heard(r.pausedTill, r.reason, r.guard))
	s.reportLater(now)
}

// heard is what Redis says of a pause: till when by its clock, 0 without an end,
// -1 none.
func (s *shared) heard(till int64, reason enrich.PauseReason, guard time.Duration) news {
	s.pool.paused = till >= 0
	// What is yet to be told is not known there.
	n := news{guard: guard, sure: s.orders.pause.Reason == ""}
	if till < 0 || s.orders.resume {
		return n
	}
	s.pool.pause = &orderPause{Till: till, Reason: reason, Probed: Pause{Reason: reason}.probed()}
	n.pause.Reason = reason
	if till > 0 {
		n.pause.Until = s.pool.local(till)
	}
	return n
}

func (s *shared) learnBooked(now time.Time, o order, c *class, r reply) {
	b := &c.booked
	b.room, b.roomTill = max(r.room, 0), now.Add(s.config.Redis.Lease/2)
	start := s.pool.local(r.start)
	switch r.status {
	case granted:
		s.observer.Leased(s.provider, granted)
		b.full, b.ask = time.Time{}, time.Time{}
		if !c.timed {
			return
		}
		l := lease{
			units: o.Units, age: o.age, start: start, at: r.start, ends: r.start + (r.n-1)*r.gap, n: r.n,
			gap:  time.Duration(r.gap) * time.Microsecond,
			late: time.Duration(r.late) * time.Microsecond,
		}
		if r.till > 0 {
			l.till = s.pool.local(r.till)
		}
		s.hold(c, l)
	case full:
		s.observer.Leased(s.provider, full)
		again := start.Add(-s.config.Redis.Lease / 2)
		if latest := now.Add(longestFull); again.After(latest) {
			again = latest
		}
		if soonest := now.Add(urgentPatience); again.Before(soonest) {
			again = soonest
		}
		if o.Urgent {
			b.urgent = again
		} else {
			b.full, b.ask = start, again
		}
	}
}

// fail is told that Redis did not answer.
func (s *shared) fail(now time.Time, c *class) {
	fair, left := 1e9, int64(1e9)
	if c != nil {
		fair = s.perSecond(c)
	}
	for i, r := range s.rules {
		if r.Shape != enrich.Concurrency && r.length() > awayFor && i < len(s.pool.lefts) {
			left = min(left, s.pool.lefts[i][0])
		}
	}
	if s.away.since.IsZero() {
		s.log.Warn("quota: Redis does not answer; going on for a minute with fewer calls, then without", "provider", s.provider)
	}
	s.away.begin(now, fair*s.pool.share, int64(float64(left)*s.pool.share), s.config.Redis.Lease)
}

// lower keeps what a vendor said for the next order, if it is less than what is
// known.
func (s *shared) lower(state enrich.LimitState) {
	for i, r := range s.rules {
		if r.Name != state.Name || r.Shape == enrich.Concurrency {
			continue
		}
		low := lowered{Limit: i + 1, Amount: max(state.Limit, 0), Remaining: state.Remaining}
		if !state.ResetAt.IsZero() {
			low.Reset = s.pool.server(state.ResetAt)
		}
		news := state.Remaining >= 0 && (i >= len(s.pool.lefts) || state.Remaining < s.pool.lefts[i][0])
		if news || state.Limit > 0 && state.Limit < r.Amount {
			s.orders.lowered[i] = low
		}
	}
}

// pause tells all replicas that the provider is closed, resume that it is not.
func (s *shared) pause(now time.Time, p Pause, surprise bool) {
	s.orders.pause, s.orders.resume = p, false
	s.orders.surprise = s.orders.surprise || surprise
	s.reportLater(now)
}

func (s *shared) resume(now time.Time) {
	s.orders.pause, s.orders.resume = Pause{}, true
	s.reportLater(now)
}
