package quota

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// shared is a source that all replicas draw on through Redis. Calls are booked
// ahead, from a future moment on, so that nobody polls: while a lease is spent
// the next one is booked. Places among concurrent calls are held, and used again
// and again.
//
// The scheduler's lock guards it; answers of Redis come in by goroutines of
// their own, which take the lock.
type shared struct {
	sharedParts
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	rules, before []rule // now, and until the limits changed last
	age           int    // how often the limits changed
	guard         time.Duration
	slots         []places
	classes       map[*class]bool // for which calls are booked

	pool   pool
	orders orders
	away   away
}

// sharedParts are what a shared source works with.
type sharedParts struct {
	store    *store
	config   Config
	replica  string
	observer Observer
	log      *slog.Logger
	provider string
	channel  string // on which pauses are told
	// lock is the scheduler's.
	lock *sync.Mutex
	host host
}

// host is the scheduler that a shared source serves. Its lock must be held.
type host interface {
	// callers tells who waits.
	callers() callers
	// learn takes over what Redis said, and serves those whose turn it is.
	learn(now time.Time, n news)
}

// callers are those who wait.
type callers struct {
	waiting     int
	running     int        // permits that are not over
	interactive time.Time  // when an interactive caller last asked
	accounts    []*account // at most maxReported
}

// news is what Redis said of more than one class.
type news struct {
	pause Pause
	sure  bool // no pause means that there is none
	guard time.Duration
}

var _ source = (*shared)(nil)

func newShared(now time.Time, parts sharedParts, rules []rule) *shared {
	s := &shared{
		sharedParts: parts,
		classes:     map[*class]bool{},
		pool:        pool{share: 1, at: now, micros: now.UnixMicro()},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.orders.init(s.report)
	s.apply(now, rules)
	s.setGuard(now, parts.config.Guard)
	return s
}

func (s *shared) begin() {}

// units is what a call of the class takes from every limit.
func (s *shared) units(c *class) []int64 {
	if c.age != s.age {
		c.age, c.units, c.timed = s.age, make([]int64, len(s.rules)), false
		c.booked.full, c.booked.ask = time.Time{}, time.Time{}
		for i, r := range s.rules {
			c.units[i] = r.units(c.operation, c.entities)
			c.timed = c.timed || c.units[i] > 0 && r.Shape != enrich.Concurrency
		}
	}
	return c.units
}

func (s *shared) take(now time.Time, c *class, d demand) (what spent, wake, not time.Time, ok bool) {
	units := s.units(c)
	for i := range s.slots {
		if p := &s.slots[i]; p.local != nil && units[i] > 0 && (!p.free(now) || now.Sub(s.pool.at) >= placesFor) {
			return spent{}, s.lackPlaces(now, c, p), time.Time{}, false
		}
	}
	what = spent{at: now, class: c}
	if c.timed {
		due, lost := c.booked.next(now)
		s.giveBack(lost...)
		switch {
		case !due.After(now):
			what.lease = c.booked.take()
		case due.Equal(never) && s.away.spend(now):
			s.orders.spentAlone(s.pool.server(now), units)
		default:
			wake, not = s.lack(now, c, d, due)
			return spent{}, wake, not, false
		}
	}
	for i := range s.slots {
		if s.slots[i].local != nil && units[i] > 0 {
			s.slots[i].local.take(now, 1, d)
		}
	}
	s.away.meter.note(now)
	if c.timed {
		s.bookAhead(now, c)
	}
	return what, now, time.Time{}, true
}

func (s *shared) finish(now time.Time, what spent, sent bool, states []enrich.LimitState) {
	units := s.units(what.class)
	for i := range s.slots {
		if p := &s.slots[i]; p.local != nil && units[i] > 0 {
			p.local.finish(now, what.at, 1, sent)
		}
	}
	if !sent && what.lease.n > 0 {
		s.hold(what.class, what.lease)
	}
	for _, state := range states {
		s.lower(state)
	}
	s.reportLater(now)
}

func (s *shared) left(now time.Time, what spent, at time.Time) {
	if units := s.translate(what.lease); what.lease.n > 0 && units != nil {
		s.orders.late = append(s.orders.late, late{At: what.lease.at, Booked: what.lease.ends, Left: s.pool.server(at), Units: units})
		s.reportLater(now)
	}
}

// hold keeps booked calls of a class until their turn.
func (s *shared) hold(c *class, l lease) {
	c.booked.leases = append(c.booked.leases, l)
	s.classes[c] = true
}

// giveBack notes calls that will not be sent.
func (s *shared) giveBack(leases ...lease) {
	for _, l := range leases {
		units := s.translate(l)
		if l.gap == 0 && l.n > 0 && units != nil {
			s.orders.returns = append(s.orders.returns, giveBack{At: l.at, Booked: l.ends, Units: units, N: l.n})
			continue
		}
		for ; l.n > 0 && units != nil; l = l.rest() {
			s.orders.returns = append(s.orders.returns, giveBack{At: l.at, Booked: l.ends, Units: units, N: 1})
		}
	}
}

// translate returns what a call of the lease takes from the limits as they are
// now; nil if they changed too often since to tell.
func (s *shared) translate(l lease) []int64 {
	switch l.age {
	case s.age:
		return l.units
	case s.age - 1:
		units := make([]int64, len(s.rules))
		for i, r := range s.rules {
			j := slices.IndexFunc(s.before, func(old rule) bool { return old.Name == r.Name && old.Shape == r.Shape })
			if j >= 0 {
				units[i] = l.units[j]
			}
		}
		return units
	}
	return nil
}

// rest gives back what was booked for callers who may not call.
func (s *shared) rest(now time.Time) {
	for c := range s.classes {
		s.giveBack(c.booked.leases...)
		c.booked.leases = nil
	}
	clear(s.classes)
	s.reportLater(now)
}

func (s *shared) estimate(now time.Time, c *class, calls int64, d demand) time.Time {
	units := s.units(c)
	latest := now
	for i := range s.slots {
		if p := &s.slots[i]; p.local != nil && units[i] > 0 {
			if at := p.local.estimate(now, calls, d); at.After(latest) {
				latest = at
			}
		}
	}
	if !c.timed {
		return latest
	}
	if c.booked.full.After(latest) && now.Before(c.booked.ask) {
		latest = c.booked.full
	}
	if idle := s.away.idle(now); idle.After(latest) {
		latest = idle
	}
	if beyond := calls - c.booked.held() - c.booked.room; beyond > 0 && now.Before(c.booked.roomTill) {
		seconds := float64(beyond-1) / (s.perSecond(c) * s.pool.share)
		latest = latest.Add(time.Duration(min(seconds, maxWindow.Seconds()) * float64(time.Second)))
	}
	return latest
}

// perSecond is how many calls of the class all limits allow in the long run.
func (s *shared) perSecond(c *class) float64 {
	slowest := 1e9
	for i, units := range s.units(c) {
		if r := s.rules[i]; units > 0 && r.Shape != enrich.Concurrency {
			slowest = min(slowest, float64(r.Amount)/float64(units)/r.length().Seconds())
		}
	}
	return slowest
}

func (s *shared) fits(c *class) bool {
	for i, units := range s.units(c) {
		if units > s.rules[i].capacity() {
			return false
		}
	}
	return true
}

func (s *shared) apply(now time.Time, rules []rule) {
	if s.age > 0 && slices.EqualFunc(s.rules, rules, rule.equal) {
		return
	}
	slots := make([]places, len(rules))
	for i, r := range rules {
		if r.Shape != enrich.Concurrency {
			continue
		}
		j := slices.IndexFunc(s.rules, func(old rule) bool { return old.Name == r.Name && old.Shape == r.Shape })
		if j >= 0 {
			slots[i] = s.slots[j]
			slots[i].local.apply(now, r, s.guard)
		} else {
			slots[i] = places{local: newSlots(r, s.config.MaxCall), told: -1}
		}
	}
	s.before, s.rules, s.slots = s.rules, rules, slots
	s.age++
	s.pool.lefts = nil
	s.orders.forgetLimits()
}

func (s *shared) setGuard(_ time.Time, guard time.Duration) { s.guard = guard }

func (s *shared) levels(now time.Time) []Level {
	levels := make([]Level, len(s.rules))
	for i, r := range s.rules {
		switch {
		case r.Shape == enrich.Concurrency:
			levels[i] = s.slots[i].local.level(now)
		case i < len(s.pool.lefts):
			levels[i] = r.level(r.capacity(), s.pool.lefts[i][0], s.pool.local(s.pool.lefts[i][1]))
		default:
			levels[i] = r.level(r.capacity(), r.capacity(), now)
		}
	}
	return levels
}

// close ends all that is under way, and gives back what was booked. It must be
// called without the lock.
func (s *shared) close() {
	s.lock.Lock()
	s.cancel()
	s.orders.beat.Stop()
	s.lock.Unlock()
	s.running.Wait()

	s.lock.Lock()
	now := time.Now()
	for c := range s.classes {
		s.giveBack(c.booked.leases...)
	}
	tell := s.hasNews() && s.orders.unsure == nil && s.away.since.IsZero()
	last := s.order(now, nil, 0)
	s.lock.Unlock()
	if tell {
		// What cannot be told counts as spent.
		_, _ = s.store.book(context.Background(), last)
	}
}
