package quota

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// orders are what is to be told to Redis, and what is on the way. One order is
// under way at a time. One whose answer did not come may have been obeyed: it is
// repeated as it was, and its number tells Redis so.
type orders struct {
	returns []giveBack
	extras  []extra
	lowered map[int]lowered
	pause   Pause // to be told
	resume  bool
	// surprise tells that the vendor refused what the account allowed.
	surprise bool

	count   int64 // numbers the orders
	busy    bool  // one is under way
	unsure  *order
	asked   *class    // for which the unsure order was
	last    time.Time // when the last was answered
	beat    *time.Timer
	beating bool
}

func (o *orders) init(report func()) {
	o.lowered = map[int]lowered{}
	o.beat = time.AfterFunc(time.Hour, report)
	o.beat.Stop()
}

// forgetLimits drops what is said in the order of limits that changed.
func (o *orders) forgetLimits() { o.returns, o.extras, o.lowered = nil, nil, map[int]lowered{} }

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
	return wake, time.Time{}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// lackPlaces asks for places, but not more often than they can move between
// replicas.
func (s *shared) lackPlaces(now time.Time, c *class, _ demand) time.Time {
	next := s.orders.last.Add(s.config.Redis.Lease / 2)
	if now.Before(next) {
		return next
	}
	s.book(now, c)
	return never
}

// bookAhead books the next lease while the last calls of this one are spent.
func (s *shared) bookAhead(now time.Time, c *class, _ demand) {
	b := &c.booked
	// The caller who is being served still counts as waiting.
	want := c.waiting() - b.held() - 1
	if want > 0 && !now.Before(b.ask) && b.last().Sub(now) < bookAhead && s.mayAsk(now) {
		o := s.order(now, c, want)
		o.Waiting = max(0, o.Waiting-1)
		s.send(o, c)
	}
}

// report tells what there is to tell when no booking does it.
func (s *shared) report() {
	s.lock.Lock()
	defer s.lock.Unlock()
	s.orders.beating = false
	if now := time.Now(); s.mayAsk(now) && s.hasNews() {
		s.send(s.order(now, nil, 0), nil)
	}
}

func (s *shared) hasNews() bool {
	o := &s.orders
	if len(o.returns)+len(o.extras)+len(o.lowered) > 0 || o.unsure != nil || o.pause.Reason != "" || o.resume || s.pool.paused {
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

// book asks for calls of the class.
func (s *shared) book(now time.Time, c *class) {
	if s.mayAsk(now) {
		s.send(s.order(now, c, max(1, c.waiting()-c.booked.held())), c)
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

func (s *shared) mayAsk(now time.Time) bool {
	return !s.orders.busy && s.ctx.Err() == nil && !s.away.resting(now)
}

// order is the next order. News that is in it is news no more.
func (s *shared) order(now time.Time, c *class, want int64) order {
	s.orders.count++
	who := s.host.callers()
	o := order{
		Replica: s.replica, Seq: s.orders.count, age: s.age,
		Epoch: s.pool.epoch, Seen: s.pool.seen, Fresh: rand.Text(),
		Want: want, Waiting: s.uncovered(who.waiting),
		Interactive: -1,
		Interval:    s.config.Redis.Lease.Microseconds(),
		Guard:       s.config.Guard.Microseconds(), Reserve: s.config.Reserve,
		Limits: s.limits(now), Units: make([]int64, len(s.rules)),
		Running: make([]int64, len(s.rules)), Places: make([]int64, len(s.rules)),
		Returns: append([]giveBack{}, s.orders.returns...),
		Extras:  append([]extra{}, s.orders.extras...),
		Lowered: []lowered{}, Accounts: []string{}, Weights: []int64{},
		Surprise: s.orders.surprise, Resume: s.orders.resume,
		Channel: s.channel, Provider: s.provider,
	}
	if !who.interactive.IsZero() {
		o.Interactive = now.Sub(who.interactive).Microseconds()
	}
	for _, a := range who.accounts {
		o.Accounts, o.Weights = append(o.Accounts, a.hash()), append(o.Weights, int64(a.weight))
	}
	o.accounts = who.accounts
	if c != nil {
		copy(o.Units, s.units(c))
	}
	for i := range s.slots {
		if p := &s.slots[i]; p.local != nil {
			p.told = int64(len(p.local.taken))
			o.Running[i], o.Places[i] = p.told, p.told+int64(who.waiting)
			if c != nil && o.Units[i] > 0 {
				o.Places[i] = max(o.Places[i], p.told+want)
			}
		}
	}
	for _, low := range s.orders.lowered {
		o.Lowered = append(o.Lowered, low)
	}
	if p := s.orders.pause; p.Reason != "" {
		o.Pause = &orderPause{Reason: p.Reason}
		if !p.Until.IsZero() {
			o.Pause.Till = s.pool.server(p.Until)
		}
	}
	s.orders.forgetLimits()
	s.orders.pause, s.orders.surprise, s.orders.resume = Pause{}, false, false
	return o
}

// uncovered is how many of those who wait have no booked call.
func (s *shared) uncovered(waiting int) int64 {
	left := int64(waiting)
	for c := range s.classes {
		left -= c.booked.held()
	}
	return max(left, 0)
}

// limits describes the limits as the scripts read them.
func (s *shared) limits(now time.Time) []orderLimit {
	limits := make([]orderLimit, len(s.rules))
	for i, r := range s.rules {
		limits[i] = orderLimit{
			Name: r.Name, Shape: r.Shape, Amount: r.Amount, Burst: r.Burst, Window: r.length().Microseconds(),
		}
		if r.Calendar != "" {
			today := time.UnixMicro(s.pool.server(now))
			start, end := r.calendar.around(today)
			_, next := r.calendar.around(end)
			limits[i].Edges = []int64{start.UnixMicro(), end.UnixMicro(), next.UnixMicro()}
			limits[i].Window = end.Sub(start).Microseconds()
		}
	}
	return limits
}

// send sends an order, or first the one whose answer did not come.
func (s *shared) send(o order, c *class) {
	if before := s.orders.unsure; before != nil {
		s.orders.returns = append(s.orders.returns, o.Returns...)
		s.orders.extras = append(s.orders.extras, o.Extras...)
		if before.age == s.age {
			before.Running, before.Places, before.Waiting = o.Running, o.Places, o.Waiting
		}
		o, c = *before, s.orders.asked
	}
	s.orders.busy = true
	s.running.Go(func() {
		began := time.Now()
		answer, err := s.ask(s.ctx, o)
		s.lock.Lock()
		defer s.lock.Unlock()
		s.orders.busy = false
		if s.ctx.Err() == nil {
			s.learn(began, time.Now(), o, c, answer, err)
		}
	})
}

// ask brings an order to Redis. If the state there has lost what we know, it is
// told so with the order.
func (s *shared) ask(ctx context.Context, o order) (reply, error) {
	answer, err := s.store.book(ctx, o)
	if err != nil || answer.status != stateLost {
		return answer, err
	}
	s.lock.Lock()
	o.Memos, o.MemoAt = append([]string{}, s.pool.memos...), s.pool.micros
	if o.Pause == nil && s.pool.paused {
		o.Pause = s.pool.pause
	}
	s.lock.Unlock()
	s.observer.Leased(s.provider, "rebuilt")
	return s.store.book(ctx, o)
}

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
	s.away.end()
	p := &s.pool
	p.at, p.micros = began.Add(now.Sub(began)/2), r.now
	p.epoch, p.seen, p.share = r.epoch, r.seq, max(r.share, 1e-3)
	if o.age == s.age && len(r.lefts) == len(s.rules) && len(r.memos) == len(s.rules) && len(r.allowed) == len(s.rules) {
		p.lefts, p.memos = r.lefts, r.memos
		for i := range s.slots {
			if s.slots[i].local != nil {
				s.slots[i].allowed = r.allowed[i]
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
	// A pause of ours that is yet to be told is not known there.
	n := news{guard: guard, sure: s.orders.pause.Reason == ""}
	if till < 0 {
		return n
	}
	s.pool.pause = &orderPause{Till: till, Reason: reason}
	n.pause.Reason = reason
	if till > 0 {
		n.pause.Until = s.pool.local(till)
	}
	return n
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

func (s *shared) learnBooked(now time.Time, o order, c *class, r reply) {
	b := &c.booked
	b.room = int64(float64(max(r.room, 0)) * s.pool.share)
	start := s.pool.local(r.start)
	switch r.status {
	case granted:
		s.observer.Leased(s.provider, granted)
		b.full, b.ask = time.Time{}, time.Time{}
		if !c.timed {
			return
		}
		l := lease{
			units: o.Units, age: o.age, start: start, at: r.start, n: r.n,
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
	s.away.begin(now, fair*s.pool.share, int64(float64(left)*s.pool.share))
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
