package quota

import "time"

const (
	// urgentPatience is how long an interactive caller waits for a booked call
	// before one more is asked for.
	urgentPatience = 20 * time.Millisecond
	// bookAhead is how long before the last booked call the next are booked.
	bookAhead = 100 * time.Millisecond
	// reportAfter is how soon calls that were not sent go back.
	reportAfter = 50 * time.Millisecond
	// lookAfter is how often a paused provider's pause is looked at, lest it
	// ended unnoticed.
	lookAfter = 15 * time.Second
	// longestFull is the longest that a full account is believed.
	longestFull = 15 * time.Second
)

// lack books calls because none is due, and tells when to look again and
// before when none can be due.
func (s *shared) lack(now time.Time, c *class, d demand, due time.Time) (wake, not time.Time) {
	b := &c.booked
	wake = earliest(due, s.away.wake(now))
	if d.urgent && due.Sub(now) > urgentPatience && !now.Before(b.urgent) {
		s.bookUrgent(now, c, due)
		return wake, time.Time{}
	}
	if due.Before(never) {
		return wake, time.Time{}
	}
	if now.Before(b.ask) {
		return earliest(wake, b.ask), b.full
	}
	s.book(now, c)
	return wake, s.away.idle(now)
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// lackPlaces asks for places. After fewer were allowed than asked for, it asks no
// more often than places can move between replicas.
func (s *shared) lackPlaces(now time.Time, c *class, p *places) time.Time {
	next := s.orders.last.Add(s.config.Redis.Lease / 2)
	if p.denied && now.Before(next) {
		return next
	}
	if s.mayAsk(now) {
		o := s.order(now, c, 1)
		o.Want = 0 // calls are booked when there is a place for them
		s.send(o, c)
	}
	return s.away.wake(now)
}

// bookAhead books the next lease while the last calls of this one are spent.
func (s *shared) bookAhead(now time.Time, c *class) {
	b := &c.booked
	// The caller who is being served still counts as waiting.
	want := c.waiting() - b.held() - 1
	if stock := s.stock(now, c); b.held() < stock/4 {
		want = max(want, stock-b.held())
	}
	if want > 0 && !now.Before(b.ask) && b.last().Sub(now) < bookAhead && s.mayAsk(now) {
		o := s.order(now, c, want)
		o.Waiting = max(0, o.Waiting-1)
		s.send(o, c)
	}
}

// book asks for calls of the class.
func (s *shared) book(now time.Time, c *class) {
	if s.mayAsk(now) {
		s.send(s.order(now, c, max(1, c.waiting()-c.booked.held())+s.stock(now, c)), c)
	}
}

// bookUrgent asks for calls of the interactive lane that can begin clearly before
// those that are booked.
func (s *shared) bookUrgent(now time.Time, c *class, due time.Time) {
	if !s.mayAsk(now) {
		return
	}
	o := s.order(now, c, max(1, c.waitingIn(0)))
	o.Urgent = true
	if due.Before(never) {
		o.Before = (due.Sub(now) - urgentPatience).Microseconds()
	}
	s.send(o, c)
}

func (s *shared) mayAsk(now time.Time) bool { return s.maySend(now) && s.away.books(now) }

func (s *shared) maySend(now time.Time) bool {
	return !s.orders.busy && s.ctx.Err() == nil && !s.away.resting(now)
}

// report tells what there is to tell when no booking does it.
func (s *shared) report() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.orders.beating = false
	if now := time.Now(); s.maySend(now) && s.hasNews() {
		s.send(s.order(now, nil, 0), nil)
	}
}

func (s *shared) hasNews() bool {
	o := &s.orders
	if len(o.returns)+len(o.extras)+len(o.late)+len(o.lowered) > 0 || o.unsure != nil || o.pause.Reason != "" || o.resume || s.pool.paused {
		return true
	}
	for _, p := range s.slots {
		if p.allowed > 0 {
			return true
		}
	}
	return false
}

// reportLater sees to it that news and held places are reported.
func (s *shared) reportLater(now time.Time) {
	urgent := s.orders.pause.Reason != "" || s.orders.resume
	if s.orders.beating && !urgent || s.ctx.Err() != nil || !s.hasNews() {
		return
	}
	after := s.config.Redis.Lease / 2
	switch {
	case urgent:
		after = 0
	case len(s.orders.returns) > 0:
		after = min(after, reportAfter)
	case s.pool.paused:
		after = lookAfter
	}
	s.orders.beating = true
	s.orders.beat.Reset(max(after, s.away.retry.Sub(now)))
}

const (
	// stockFor is for how long ahead calls are booked that nobody waits for yet.
	// Then they are given back, before they would leave late.
	stockFor = 20 * time.Millisecond
	// richTimes the stock must be left of an account at once for a stock to be
	// held: then it is nothing that anybody else could miss.
	richTimes = 20
)

// stock is how many calls of the class are booked beyond those that are waited
// for. A busy replica of a rich account so asks Redis for many calls at once
// instead of for each few, and its callers do not wait for the answer. Of an
// account that is not rich, and of places, nothing is held back.
func (s *shared) stock(now time.Time, c *class) int64 {
	stock := int64(s.away.meter.perSecond(now) * stockFor.Seconds())
	if !now.Before(c.booked.roomTill) || c.booked.room < richTimes*stock {
		return 0
	}
	for i, units := range s.units(c) {
		if units > 0 && s.slots[i].local != nil {
			return 0
		}
	}
	return stock
}

// idle gives back what was booked for callers who have left, but for a stock.
func (s *shared) idle(now time.Time) (wake time.Time) {
	wake = never
	for c := range s.classes {
		stocked := s.stock(now, c) > 0
		kept := c.booked.leases[:0]
		for _, l := range c.booked.leases {
			until := l.start.Add(stockFor)
			if !stocked || l.gap > 0 || !now.Before(until) {
				s.giveBack(l)
				continue
			}
			kept, wake = append(kept, l), earliest(wake, until)
		}
		if c.booked.leases = kept; len(kept) == 0 {
			delete(s.classes, c)
		}
	}
	s.reportLater(now)
	return wake
}
