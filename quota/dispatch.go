package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func (s *scheduler) dispatchLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(time.Now())
}

// dispatch serves all waiters whose turn it is, refuses those who wait in vain,
// and sets the timer for the next.
func (s *scheduler) dispatch(now time.Time) {
	wake := never
	switch {
	case s.waiting == 0:
		s.source.rest(now)
	case s.pause.active(now):
		if !s.pause.Until.IsZero() {
			wake = s.pause.Until
		}
	default:
		wake = s.pass(now)
	}
	if wake.Equal(never) {
		s.timer.Stop()
	} else {
		s.timer.Reset(wake.Sub(now))
	}
}

// pass serves waiters in their order until no queue can go on, and returns when
// to try again.
func (s *scheduler) pass(now time.Time) (wake time.Time) {
	wake = never
	s.source.begin()
	for _, q := range s.queues {
		q.blocked = false
	}
	for {
		place, q := s.next()
		if q == nil {
			return wake
		}
		got, again, not, ok := s.source.take(now, q.class, s.demand(now, place, s.waiting))
		if !ok {
			q.blocked = true
			wake = earliest(wake, again)
			s.expel(q, not)
			continue
		}
		w := q.head()
		s.served(place, w)
		w.spent = got
		s.running++
		close(w.done)
	}
}

// next is the queue whose head is served next: the first lane that is not
// blocked, unless it had its run while others waited.
func (s *scheduler) next() (int, *queue) {
	var first [lanes]*queue
	for _, q := range s.queues {
		if q.blocked {
			continue
		}
		place := s.place(q.lane)
		if best := first[place]; best == nil || q.before(best) {
			first[place] = q
		}
	}
	choice := -1
	for place, q := range first {
		if q == nil {
			continue
		}
		choice = place
		if s.lanes[place].run < runs[place] {
			break
		}
	}
	if choice < 0 {
		return 0, nil
	}
	return choice, first[choice]
}

func (s *scheduler) place(l *lane) int {
	for place := range s.lanes {
		if s.lanes[place] == l {
			return place
		}
	}
	return lanes - 1
}

// before tells whether the head of q comes before the other's.
func (q *queue) before(other *queue) bool {
	a, b := q.head().flow, other.head().flow
	return a.turn < b.turn || a.turn == b.turn && a.began.Before(b.began)
}

// served takes w, whose turn it is, out of its queue, and counts the runs.
func (s *scheduler) served(place int, w *waiter) {
	s.lanes[place].serve(w.flow)
	s.leave(w)
	slower := 0
	for _, l := range s.lanes[place+1:] {
		slower += l.waiting
	}
	if slower > 0 {
		s.lanes[place].run++
	} else {
		s.lanes[place].run = 0
	}
	for _, faster := range s.lanes[:place] {
		faster.run = 0
	}
}

// expel refuses those of the queue who must leave before at.
func (s *scheduler) expel(q *queue, at time.Time) {
	for len(q.deadlines) > 0 && q.deadlines[0].deadline.Before(at) {
		refusal := &Refusal{Provider: s.provider, Reason: enrich.ReasonNoToken}
		if at.Before(never) {
			refusal.ReadyAt = at
		}
		s.refuse(q.deadlines[0], refusal)
	}
}

func (s *scheduler) refuse(w *waiter, refusal *Refusal) {
	s.leave(w)
	w.refusal = refusal
	close(w.done)
}
