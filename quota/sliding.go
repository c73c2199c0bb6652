package quota

import (
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// sliding allows amount in any stretch of the window's length. A call may reach
// the vendor late and the one that follows a window later early, so a unit
// comes back only after the length and the guard.
type sliding struct {
	rule    rule
	guard   time.Duration
	learned int64  // what the vendor says it allows; 0: nothing
	log     []took // oldest first
	used    int64  // sum of log
	closed  time.Time
}

// took is some units that were spent at about the same time.
type took struct {
	from, to time.Time
	n        int64
}

// logParts is into how many parts the log divides a window: units spent within
// one part come back together.
const logParts = 1024

func newSliding(r rule, guard time.Duration) *sliding { return &sliding{rule: r, guard: guard} }

func (s *sliding) amount() int64 {
	if s.learned > 0 {
		return min(s.learned, s.rule.Amount)
	}
	return s.rule.Amount
}

// back is when units spent at t may be spent again.
func (s *sliding) back(t time.Time) time.Time { return t.Add(s.length()) }

// length is the window with its guard, which is at most a quarter of it.
func (s *sliding) length() time.Duration { return s.rule.Window + min(s.guard, s.rule.Window/4) }

func (s *sliding) forget(now time.Time) {
	old := 0
	for old < len(s.log) && !s.back(s.log[old].to).After(now) {
		s.used -= s.log[old].n
		old++
	}
	if old > 0 {
		s.log = append(s.log[:0], s.log[old:]...)
	}
}

func (s *sliding) ready(now time.Time, n int64, d demand) (time.Time, bool) {
	if n > s.rule.Amount {
		return never, true
	}
	s.forget(now)
	if now.Before(s.closed) {
		return s.closed, true
	}
	keep := min(int64(d.keep(now, s.amount(), s.rule.Window)/5), s.amount()-n)
	return s.when(now, n+max(keep, 0)), keep <= 0
}

// when is the time at which need units are free.
func (s *sliding) when(now time.Time, need int64) time.Time {
	lacking := s.used + need - s.amount()
	for _, entry := range s.log {
		if lacking <= 0 {
			break
		}
		lacking -= entry.n
		now = s.back(entry.to)
	}
	return now
}

func (s *sliding) take(now time.Time, n int64, _ demand) {
	s.used += n
	if last := len(s.log) - 1; last >= 0 && now.Sub(s.log[last].from) < s.rule.Window/logParts {
		s.log[last].to = now
		s.log[last].n += n
		return
	}
	s.log = append(s.log, took{from: now, to: now, n: n})
}

func (s *sliding) finish(now, then time.Time, n int64, sent bool) {
	if sent {
		return
	}
	for i := range s.log {
		if entry := &s.log[i]; !then.Before(entry.from) && !then.After(entry.to) {
			given := min(n, entry.n)
			entry.n -= given
			s.used -= given
			return
		}
	}
}

// late moves units to when they were really spent.
func (s *sliding) late(now, then, left time.Time, n int64) {
	used := s.used
	s.finish(now, then, n, false)
	moved := used - s.used
	if moved == 0 {
		return
	}
	s.used = used
	place := len(s.log)
	for place > 0 && s.log[place-1].to.After(left) {
		place--
	}
	s.log = slices.Insert(s.log, place, took{from: left, to: left, n: moved})
}

func (s *sliding) estimate(now time.Time, n int64, d demand) time.Time {
	s.forget(now)
	windows := (n - 1) / s.amount()
	at := s.when(now, n-windows*s.amount())
	return at.Add(time.Duration(windows) * s.length())
}

// lower counts what others spent as spent now.
func (s *sliding) lower(now time.Time, state enrich.LimitState) {
	s.forget(now)
	if state.Limit > 0 {
		s.learned = state.Limit
	}
	if state.Remaining < 0 {
		return
	}
	if others := s.amount() - s.used - state.Remaining; others > 0 {
		s.take(now, others, demand{})
	}
	if state.Remaining == 0 && state.ResetAt.After(now) && !state.ResetAt.After(s.back(now)) {
		s.closed = state.ResetAt
	}
}

func (s *sliding) apply(_ time.Time, r rule, guard time.Duration) { s.rule, s.guard = r, guard }

func (s *sliding) level(now time.Time) Level {
	s.forget(now)
	reset := now
	if len(s.log) > 0 {
		reset = s.back(s.log[len(s.log)-1].to)
	}
	return s.rule.level(s.rule.Amount, max(0, s.amount()-s.used), reset)
}

func (s *sliding) gathers() bool { return true }

func (s *sliding) store(now time.Time) (w storedWindow) {
	s.forget(now)
	for _, entry := range s.log {
		w.Log = append(w.Log, storedEntry{At: entry.to, N: entry.n})
	}
	return w
}

func (s *sliding) restore(now time.Time, w storedWindow) {
	for _, entry := range w.Log {
		at := entry.At
		if at.After(now) {
			at = now
		}
		s.log = append(s.log, took{from: at, to: at, n: entry.N})
		s.used += entry.N
	}
	s.forget(now)
}

func (s *sliding) exhaust(now time.Time) {
	if left := s.amount() - s.used; left > 0 {
		s.take(now, left, demand{})
	}
}
