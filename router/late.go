package router

import (
	"cmp"
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// late is a call that outlasted the wait of the walk that sent it. It rides on
// alone to its end, so that nothing is lost that the vendor may charge for:
//
//	sent ─► walk waits ─► answer
//	            └─ no time left ─► late ─► end: remembered, and taken in by
//	                                       every walk that awaits it
//
// Walks about the same subject await it and send the provider no further call.
// They read it only once it is over.
type late struct {
	ride
	sent *sent
	over context.Context
	done context.CancelFunc
}

// outlasted hands a call over to a late: job, reservation and all. The walk goes
// on without it.
func (r *ride) outlasted(s *sent) {
	l := &late{sent: s, ride: ride{
		walk:      &walk{Router: r.Router, table: r.table, strategy: r.strategy, ctx: s.ctx, ask: r.ask, missing: r.job.wanted},
		progress:  &progress{call: r.call, open: r.job.wanted, failures: r.failures, job: r.job},
		leg:       leg{wanted: r.job.wanted},
		idleSince: r.idleSince,
	}}
	l.over, l.done = context.WithCancel(context.Background())
	r.attempted(s, enrich.Timeout, enrich.Charge{})
	r.awaited = append(r.awaited, awaited{l, len(r.attempts) - 1})
	r.debug("outlasted", r.call)
	r.job = job{}
	r.late.begin(l)
}

// run waits for the reply and treats it as any other, except that no time is
// left: nothing is repeated, no job is gone on with.
func (l *late) run() {
	defer func() {
		if recover() != nil {
			l.log.Error("panic in a late answer", "provider", l.call.name, "stack", string(debug.Stack()))
		}
	}()
	l.land(l.sent, l.sent.rest())
	if len(l.facts) > 0 && l.ask.Late != nil {
		l.ask.Late(enrich.NewRecord(l.facts...))
	}
}

// lates are the late calls under way. Each holds a permit, so there are no more
// than quotas allow within the providers' timeouts. Safe for concurrent use.
type lates struct {
	mu      sync.Mutex
	about   map[string][]*late // by subject
	running sync.WaitGroup
}

func (ls *lates) begin(l *late) {
	key := l.ask.Subject.Key().Reveal()
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.about == nil {
		ls.about = map[string][]*late{}
	}
	ls.about[key] = append(ls.about[key], l)
	ls.running.Go(func() {
		defer ls.end(key, l)
		l.run()
	})
}

func (ls *lates) end(key string, l *late) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.about[key] = slices.DeleteFunc(ls.about[key], func(other *late) bool { return other == l })
	if len(ls.about[key]) == 0 {
		delete(ls.about, key)
	}
	l.done()
}

// awaiting lists the late calls about a subject.
func (ls *lates) awaiting(subject enrich.Subject) (all []awaited) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if len(ls.about) == 0 {
		return nil
	}
	for _, l := range ls.about[subject.Key().Reveal()] {
		all = append(all, awaited{l, -1})
	}
	return all
}

func (ls *lates) cancel() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, about := range ls.about {
		for _, l := range about {
			l.sent.cancel()
		}
	}
}

// Close waits until the calls have ended that outlasted their walks. Those that
// have not when ctx ends are broken off, and Close returns ctx's error. Call it
// after the last Find has returned, before what the router works with is
// closed.
func (r *Router) Close(ctx context.Context) error {
	defer r.crew.Close()
	stop := context.AfterFunc(ctx, r.late.cancel)
	r.late.running.Wait()
	if !stop() {
		return ctx.Err()
	}
	return nil
}

// awaited is a late call that a walk awaits, and its place among the walk's
// attempts; -1 when another walk sent it.
type awaited struct {
	*late
	attempt int
}

// inFlight tells whether a late call to the provider is still under way, and
// when it must have ended.
func (w *walk) inFlight(rt *route) (until time.Time, running bool) {
	for _, a := range w.awaited {
		if a.call.name == rt.name {
			timeout, _ := a.sent.ctx.Deadline()
			return timeout, true
		}
	}
	return time.Time{}, false
}

// await waits until one of the awaited calls has ended, or the walk must.
func (w *walk) await() {
	ctx, release := w.untilNews()
	defer release()
	sleep(ctx, time.Until(w.deadline))
}

// underWay is closed when the awaited calls have ended; nil: there are none.
func (w *walk) underWay() <-chan struct{} {
	if len(w.awaited) == 0 {
		return nil
	}
	var left sync.WaitGroup
	for _, a := range w.awaited {
		left.Add(1)
		context.AfterFunc(a.over, left.Done)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		left.Wait()
	}()
	return ended
}

// untilNews returns the walk's context, which also ends when there is reason to
// plan again: an awaited call has ended, and what it brought may spare the one
// that is waited for; or the look-up has become urgent.
func (w *walk) untilNews() (ctx context.Context, release func()) {
	if len(w.awaited) == 0 && w.ask.Urgency == nil {
		return w.ctx, func() {}
	}
	news := &latent{Context: w.ctx, news: w}
	return news, news.release
}

// hasNews tells whether there is reason to plan again.
func (w *walk) hasNews() bool {
	for _, a := range w.awaited {
		if a.over.Err() != nil {
			return true
		}
	}
	return w.ask.Urgency != nil && w.ask.Urgency.Above(w.ask.Lane)
}

// linkToNews makes the context of untilNews.
func (w *walk) linkToNews() (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancel(w.ctx)
	if w.hasNews() {
		cancel() // at once, which AfterFunc would do a moment later
	}
	for _, a := range w.awaited {
		context.AfterFunc(a.over, cancel)
	}
	var risen context.Context
	if w.ask.Urgency != nil {
		risen = w.ask.Urgency.Risen(w.ask.Lane)
	}
	if risen == nil {
		return ctx, cancel
	}
	stop := context.AfterFunc(risen, cancel)
	return ctx, func() { stop(); cancel() }
}

// rise puts the walk into the lane of the most urgent caller that waits for it.
// What it waited in the other lane counts no more: neither as a claim to be served
// before those who wait there already, nor against the patience of a caller who has
// only come.
func (w *walk) rise() {
	if w.ask.Urgency == nil || !w.ask.Urgency.Above(w.ask.Lane) {
		return
	}
	w.ask.Lane, w.since = w.ask.Urgency.Lane(), time.Now()
	for i := range w.progress {
		w.progress[i].waited = 0
	}
}

// takeIn takes in what has become of the awaited calls, as if this walk had
// waited for each.
func (w *walk) takeIn() {
	w.awaited = slices.DeleteFunc(w.awaited, func(a awaited) bool {
		if a.over.Err() == nil {
			return false
		}
		w.take(a)
		return true
	})
}

func (w *walk) take(a awaited) {
	wanted := a.leg.wanted
	w.facts = append(w.facts, a.facts...)
	w.missing &^= wanted &^ a.missing
	w.silent |= a.silent
	w.silence = cmp.Or(a.silence, w.silence)
	w.stopped = cmp.Or(w.stopped, a.stopped)
	for i := range w.progress {
		if p := &w.progress[i]; p.call.is(a.call) {
			p.open &^= wanted &^ a.open
			if a.spent != "" {
				p.spent, p.readyAt, p.pause = a.spent, a.readyAt, a.pause
			}
		}
	}
	if a.attempt >= 0 && len(a.attempts) > 0 {
		w.attempts[a.attempt] = a.attempts[0]
	}
}
