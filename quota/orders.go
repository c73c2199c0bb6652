package quota

import (
	"context"
	"crypto/rand"
	"slices"
	"time"
)

// orders are what is to be told to Redis, and what is on the way. One order is
// under way at a time. One whose answer did not come may have been obeyed: it is
// repeated as it was, and its number tells Redis so.
type orders struct {
	returns []giveBack
	extras  []extra
	late    []late
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

// spentAlone notes a call that was sent without a lease.
func (o *orders) spentAlone(at int64, units []int64) {
	if last := len(o.extras) - 1; last >= 0 && at-o.extras[last].At < 100_000 && slices.Equal(o.extras[last].Units, units) {
		o.extras[last].N++
		return
	}
	o.extras = append(o.extras, extra{At: at, Units: units, N: 1})
}

// forgetLimits drops what is said in the order of limits that changed.
func (o *orders) forgetLimits() {
	o.returns, o.extras, o.late, o.lowered = nil, nil, nil, map[int]lowered{}
}

// order is the next order.
func (s *shared) order(now time.Time, c *class, want int64) order {
	s.orders.count++
	who := s.host.callers()
	o := order{
		Replica: s.replica, Seq: s.orders.count, age: s.age,
		Epoch: s.pool.epoch, Seen: s.pool.seen, Fresh: rand.Text(),
		Want: want, Waiting: max(0, int64(who.waiting)-s.held()), Held: s.held() + int64(who.running),
		Interactive: -1,
		Interval:    s.config.Redis.Lease.Microseconds(),
		Guard:       s.config.Guard.Microseconds(), Reserve: s.config.Reserve,
		Limits: s.limits(now), Units: make([]int64, len(s.rules)),
		Running: make([]int64, len(s.rules)), Places: make([]int64, len(s.rules)),
		Returns: append([]giveBack{}, s.orders.returns...),
		Extras:  append([]extra{}, s.orders.extras...),
		Late:    append([]late{}, s.orders.late...),
		Lowered: []lowered{}, Accounts: []string{}, Weights: []int64{},
		Surprise: s.orders.surprise, Resume: s.orders.resume,
		Channel: s.channel, Provider: s.provider,
	}
	for _, back := range o.Returns {
		o.Held += back.N
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
		o.Pause = &orderPause{Reason: p.Reason, Probed: p.probed()}
		if !p.Until.IsZero() {
			o.Pause.Till = s.pool.server(p.Until)
		}
	}
	return o
}

// held is how many calls are booked that were not sent.
func (s *shared) held() (n int64) {
	for c := range s.classes {
		n += c.booked.held()
	}
	return n
}

// limits describes the limits as the scripts read them.
func (s *shared) limits(now time.Time) []orderLimit {
	limits := make([]orderLimit, len(s.rules))
	for i, r := range s.rules {
		limits[i] = orderLimit{
			ID: r.id(), Name: r.Name, Shape: r.Shape, Amount: r.Amount, Burst: r.Burst, Window: r.length().Microseconds(),
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

// send sends an order, or first the one whose answer did not come. News that is
// in the order is news no more.
func (s *shared) send(o order, c *class) {
	if before := s.orders.unsure; before == nil {
		s.orders.forgetLimits()
		s.orders.pause, s.orders.surprise, s.orders.resume = Pause{}, false, false
	} else {
		if before.age == s.age {
			before.Running, before.Places, before.Waiting = o.Running, o.Places, o.Waiting
		}
		before.Again = true
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

// ask brings an order to Redis, and makes it better when it is asked to: when
// the state there has lost what we know, or our clock is far from the server's.
func (s *shared) ask(ctx context.Context, o order) (answer reply, err error) {
	for range 3 {
		if answer, err = s.store.book(ctx, o); err != nil {
			return answer, err
		}
		switch answer.status {
		case stateLost:
			s.tellAll(&o)
		case badClock:
			s.setClock(&o, answer.now)
		default:
			return answer, nil
		}
	}
	return reply{}, errUnreadable
}

// tellAll adds to the order what we know of the state.
func (s *shared) tellAll(o *order) {
	s.observer.Leased(s.provider, "rebuilt")
	s.log.Warn("quota: Redis lost what was spent; it is rebuilt on the safe side", "provider", s.provider)
	s.lock.Lock()
	defer s.lock.Unlock()
	o.Restore, o.Memos, o.MemoAt = true, make([]string, len(o.Limits)), s.pool.micros
	for i, l := range o.Limits {
		o.Memos[i] = s.pool.memos[l.ID]
	}
	if o.Pause == nil && s.pool.paused {
		o.Pause = s.pool.pause
	}
}

// setClock takes the server's time over into the order's calendar windows.
func (s *shared) setClock(o *order, micros int64) {
	s.lock.Lock()
	defer s.lock.Unlock()
	now := time.Now()
	s.pool.at, s.pool.micros = now, micros
	if o.age == s.age {
		o.Limits = s.limits(now)
	}
}
