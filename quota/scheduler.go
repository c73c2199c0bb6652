package quota

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// scheduler decides who makes a provider's next call. It needs no goroutine:
// whoever comes, leaves or gives something back serves those whose turn it is,
// and a timer does when the limits have room again.
type scheduler struct {
	provider string
	observer Observer
	board    *switchboard

	mu      sync.Mutex
	source  source
	classes map[classKey]*class
	lanes   [lanes]*lane
	queues  []*queue // with waiters
	waiting int
	running int // permits that are not over
	pause   Pause
	strikes strikes
	config  Config
	guard   guard
	timer   *time.Timer
	visited time.Time // when an interactive caller last asked
	born    time.Time
	closed  bool
}

// maxClasses bounds the classes that are remembered while nobody waits in them.
const maxClasses = 256

// schedulerParts are a scheduler's collaborators.
type schedulerParts struct {
	config   Config
	board    *switchboard
	observer Observer
	log      *slog.Logger
	store    *store // nil: this process counts alone
	replica  string
	channel  string
	save     func() // nil: there is no state file
}

func newScheduler(provider string, parts schedulerParts, rules []rule) *scheduler {
	now := time.Now()
	s := &scheduler{
		provider: provider, config: parts.config, board: parts.board, observer: parts.observer,
		classes: map[classKey]*class{},
		guard:   guard{configured: parts.config.Guard, now: parts.config.Guard},
		born:    now,
	}
	for i := range s.lanes {
		s.lanes[i] = &lane{place: i, accounts: map[string]*account{}}
	}
	s.timer = time.AfterFunc(time.Hour, s.dispatchLater)
	s.timer.Stop()
	if parts.store == nil {
		alone := newLocal(now, rules, parts.config.Guard, parts.config.MaxCall)
		alone.save = parts.save
		s.source = alone
		return s
	}
	s.source = newShared(now, sharedParts{
		store: parts.store, config: parts.config, replica: parts.replica, observer: parts.observer, log: parts.log,
		provider: provider, channel: parts.channel, lock: &s.mu, host: s,
	}, rules)
	return s
}

// acquire returns what the call spent and how long it waited for it.
func (s *scheduler) acquire(ctx context.Context, ask Ask) (spent, time.Duration, *Refusal) {
	if err := ctx.Err(); err != nil {
		return spent{}, 0, &Refusal{Provider: s.provider, Reason: enrich.ReasonOutOfTime, Cause: err}
	}
	s.mu.Lock()
	now := time.Now()
	place := laneOf(ask.Lane)
	if place == 0 {
		s.visited = now
	}
	// Looked at under the lock: who joins after a switch was turned off is refused
	// here, who joined before by heed.
	if refusal := s.board.refusal(s.provider, ask.Account); refusal != nil {
		s.mu.Unlock()
		return spent{}, 0, refusal
	}
	c := s.class(ask)
	if s.waiting == 0 && !s.closed && !s.pause.active(now) {
		if got, _, _, ok := s.source.take(now, c, s.demand(now, place, 1)); ok {
			s.running++
			s.mu.Unlock()
			return got, 0, nil
		}
	}
	deadline, _ := ctx.Deadline()
	if refusal := s.admit(now, c, place, ask, deadline); refusal != nil {
		s.mu.Unlock()
		return spent{}, 0, refusal
	}
	w := &waiter{began: now, since: ask.Since, deadline: deadline, done: make(chan struct{})}
	if w.since.IsZero() {
		w.since = now
	}
	s.join(c, place, ask, w)
	s.dispatch(now)
	s.mu.Unlock()

	select {
	case <-w.done:
	case <-ctx.Done():
		s.abandon(w, ask, ctx.Err())
	}
	return w.spent, time.Since(w.began), w.refusal
}

// admit says why a call need not wait at all.
func (s *scheduler) admit(now time.Time, c *class, place int, ask Ask, deadline time.Time) *Refusal {
	refusal := s.forecast(now, c, place, ask)
	l := s.lanes[place]
	switch {
	case refusal.Reason == "":
		return nil
	case refusal.ReadyAt.IsZero(), !deadline.IsZero() && refusal.ReadyAt.After(deadline):
		return refusal.found()
	}
	own := 0
	if a := l.accounts[ask.Account]; a != nil {
		own = a.waiting
	}
	if own >= s.config.MaxWaiting-l.waiting {
		return refusal.found()
	}
	return nil
}

// found is the refusal on the heap; a forecast alone costs no allocation.
func (r Refusal) found() *Refusal { return &r }

// forecast says when the call could begin if it began to wait now; the reason
// is empty if it need not wait.
func (s *scheduler) forecast(now time.Time, c *class, place int, ask Ask) Refusal {
	refusal := Refusal{Provider: s.provider}
	switch {
	case s.closed:
		refusal.Reason = enrich.ReasonNoSource
		return refusal
	case s.pause.active(now):
		refusal.Reason, refusal.ReadyAt, refusal.Pause = enrich.ReasonPaused, s.pause.Until, s.pause.Reason
		return refusal
	case !s.source.fits(c):
		refusal.Reason = enrich.ReasonNoToken
		return refusal
	}
	ahead := int64(0)
	for _, faster := range s.lanes[:place] {
		ahead += int64(faster.waiting)
	}
	ahead += s.lanes[place].ahead(ask.Account, ask.Weight, c.queues[place].behind(ask.Account, ask.Since))
	at := s.source.estimate(now, c, ahead+1, s.demand(now, place, s.waiting+1))
	if at.After(now) {
		refusal.Reason, refusal.ReadyAt = enrich.ReasonNoToken, at
	}
	return refusal
}

func (s *scheduler) demand(now time.Time, place, waiting int) demand {
	return demand{
		urgent: place == 0, wary: s.guard.now > s.guard.configured, waiting: int64(waiting),
		interactive: s.visited, born: s.born, reserve: s.config.Reserve,
	}
}

// class returns the class of a call.
func (s *scheduler) class(ask Ask) *class {
	key := classKey{ask.Operation, int64(max(ask.Entities, 0))}
	if ask.Entities == 0 {
		key.entities = 1
	}
	c := s.classes[key]
	if c == nil {
		if len(s.classes) >= maxClasses {
			s.forgetClasses()
		}
		c = &class{classKey: key}
		s.classes[key] = c
	}
	return c
}

func (s *scheduler) forgetClasses() {
	for key, c := range s.classes {
		if !slices.ContainsFunc(s.queues, func(q *queue) bool { return q.class == c }) {
			delete(s.classes, key)
		}
	}
}

func (s *scheduler) join(c *class, place int, ask Ask, w *waiter) {
	if c.queues[place] == nil {
		c.queues[place] = newQueue(c, s.lanes[place])
	}
	q := c.queues[place]
	if q.waiting == 0 {
		s.queues = append(s.queues, q)
	}
	q.join(w, ask.Account, ask.Weight)
	s.waiting++
}

func (s *scheduler) leave(w *waiter) {
	q := w.flow.queue
	q.leave(w)
	s.waiting--
	if q.waiting == 0 {
		i := slices.Index(s.queues, q)
		s.queues = slices.Delete(s.queues, i, i+1)
	}
}

// abandon takes a waiter out whose caller has gone. A turn that came at the same
// moment goes to the next.
func (s *scheduler) abandon(w *waiter, ask Ask, cause error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch {
	case w.refusal != nil:
		return
	case w.ended:
		s.running--
		s.source.finish(now, w.spent, false, nil)
	default:
		s.leave(w)
	}
	w.refusal = s.forecast(now, w.flow.queue.class, laneOf(ask.Lane), ask).found()
	w.refusal.Cause = cause
	w.refusal.Reason = cmp.Or(w.refusal.Reason, enrich.ReasonNoToken)
	s.dispatch(now)
}

// left notes that a call left late.
func (s *scheduler) left(what spent, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.source.left(time.Now(), what, at)
}

// settle ends a call that was sent.
func (s *scheduler) settle(what spent, states []enrich.LimitState) { s.finish(what, true, states) }

// putBack ends a call that was not sent.
func (s *scheduler) putBack(what spent) { s.finish(what, false, nil) }

func (s *scheduler) finish(what spent, sent bool, states []enrich.LimitState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.running--
	s.source.finish(now, what, sent, states)
	if s.guard.shrink(now) {
		s.source.setGuard(now, s.guard.now)
	}
	s.dispatch(now)
}

// apply changes configuration and limits. Waiters stay; the timer follows the new
// limits. A guard that has grown keeps what it grew.
func (s *scheduler) apply(config Config, rules []rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if config.Guard != s.config.Guard {
		s.guard.configure(config.Guard)
		s.source.setGuard(now, s.guard.now)
	}
	s.config = config
	if remote, ok := s.source.(*shared); ok {
		remote.config = config
	}
	s.source.apply(now, rules)
	s.dispatch(now)
}

// close refuses all who wait and all who come, and ends the source.
func (s *scheduler) close() {
	s.mu.Lock()
	s.closed = true
	for len(s.queues) > 0 {
		s.refuse(s.queues[0].head(), &Refusal{Provider: s.provider, Reason: enrich.ReasonNoSource})
	}
	s.timer.Stop()
	s.mu.Unlock()
	s.source.close()
}
