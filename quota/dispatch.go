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
	case s.pause.active(now):
		s.source.rest(now)
		if s.waiting > 0 && !s.pause.Until.IsZero() {
			wake = s.pause.Until
		}
	case s.waiting == 0:
		wake = s.source.idle(now)
	default:
		wake = s.pass(now)
	}
	if wake.Equal(never) {
		s.timer.Stop()
	} else {
		s.timer.Reset(max(wake.Sub(now), shortestNap))
	}
}

// shortestNap keeps the timer from spinning.
const shortestNap = 20 * time.Microsecond

// pass serves waiters in their order until no queue can go on, and returns when
// to try again.
func (s *scheduler) pass(now time.Time) (wake time.Time) {
	wake = never
	s.source.begin()
	for _, q := range s.queues {
		q.blocked = false
	}
	for {
		q := s.next()
		if q == nil {
			return wake
		}
		got, again, not, ok := s.source.take(now, q.class, s.demand(now, q.lane.place, s.waiting))
		if !ok {
			q.blocked = true
			wake = earliest(wake, again)
			s.expel(q, not)
			continue
		}
		w := q.head()
		s.served(w)
		w.spent = got
		s.running++
		close(w.done)
	}
}

// next is the queue whose head is served next: the first lane that is not
// blocked, unless it had its run while others waited.
func (s *scheduler) next() (choice *queue) {
	var first [lanes]*queue
	for _, q := range s.queues {
		if best := first[q.lane.place]; !q.blocked && (best == nil || q.before(best)) {
			first[q.lane.place] = q
		}
	}
	for place, q := range first {
		if q == nil {
			continue
		}
		choice = q
		if q.lane.run < runs[place] {
			break
		}
	}
	return choice
}

// before tells whether the head of q comes before the other's.
func (q *queue) before(other *queue) bool {
	a, b := q.head().flow, other.head().flow
	return a.turn < b.turn || a.turn == b.turn && a.began.Before(b.began)
}

// served takes w, whose turn it is, out of its queue, and counts the runs.
func (s *scheduler) served(w *waiter) {
	l := w.flow.queue.lane
	l.serve(w.flow)
	s.leave(w)
	slower := 0
	for _, other := range s.lanes[l.place+1:] {
		slower += other.waiting
	}
	l.run++
	if slower == 0 {
		l.run = 0
	}
	for _, faster := range s.lanes[:l.place] {
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
