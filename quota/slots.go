package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// slots allows amount calls under way at once. A place is free when the call
// ended; one whose end nobody tells is free after maxCall.
type slots struct {
	rule    rule
	maxCall time.Duration
	taken   []time.Time // when each call under way began, oldest first
	hold    time.Duration
}

func newSlots(r rule, maxCall time.Duration) *slots { return &slots{rule: r, maxCall: maxCall} }

// forget frees the places of calls that must have ended.
func (s *slots) forget(now time.Time) {
	lost := 0
	for lost < len(s.taken) && now.Sub(s.taken[lost]) >= s.maxCall {
		lost++
	}
	s.taken = append(s.taken[:0], s.taken[lost:]...)
}

func (s *slots) ready(now time.Time, n int64, _ demand) (time.Time, bool) {
	s.forget(now)
	if int64(len(s.taken)) < s.rule.Amount {
		return now, true
	}
	return s.taken[0].Add(s.maxCall), false
}

func (s *slots) take(now time.Time, _ int64, _ demand) { s.taken = append(s.taken, now) }

// late does nothing: a place is taken until the call has ended.
func (s *slots) late(_, _, _ time.Time, _ int64) {}

func (s *slots) finish(now, then time.Time, _ int64, sent bool) {
	for i, began := range s.taken {
		if began.Equal(then) {
			s.taken = append(s.taken[:i], s.taken[i+1:]...)
			break
		}
	}
	if sent {
		// The mean of about the last eight calls.
		s.hold += (now.Sub(then) - s.hold) / 8
	}
}

func (s *slots) estimate(now time.Time, n int64, _ demand) time.Time {
	s.forget(now)
	ahead := n - (s.rule.Amount - int64(len(s.taken)))
	if ahead <= 0 {
		return now
	}
	return now.Add(time.Duration(float64(s.hold) * float64(ahead) / float64(s.rule.Amount)))
}

// lower believes the vendor only about its limit: what remained is about
// another moment.
func (s *slots) lower(time.Time, enrich.LimitState) {}

func (s *slots) apply(_ time.Time, r rule, _ time.Duration) { s.rule = r }

func (s *slots) level(now time.Time) Level {
	s.forget(now)
	return s.rule.level(s.rule.Amount, max(0, s.rule.Amount-int64(len(s.taken))), time.Time{})
}

func (s *slots) gathers() bool { return false }

func (s *slots) store(time.Time) storedWindow    { return storedWindow{} }
func (s *slots) restore(time.Time, storedWindow) {}
func (s *slots) exhaust(time.Time)               {}
