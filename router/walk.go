package router

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// walk is one Find under way. One goroutine owns it.
type walk struct {
	*Router
	*table
	*strategy
	ctx       context.Context
	ask       enrich.Ask
	since     time.Time      // that it keeps its place in the lane by
	deadline  time.Time      // of the last call
	missing   set            // no fact that counts was found yet
	silent    set            // answered without a word about it, as masked values are
	silence   enrich.Outcome // the outcome of such an answer
	progress  []progress
	standings []standing
	planned   plan
	facts     []enrich.Fact
	attempts  []enrich.Attempt
	awaited   []awaited // late calls about the subject
	stopped   string    // why nobody is asked any more
}

// progress is how far a walk has come with one call.
type progress struct {
	call *call
	// open attributes may be asked of it, denied are not the account's to ask,
	// doubtful are supplied with too little confidence.
	open, denied, doubtful set
	// spent is why the call is not made again for this request; readyAt when
	// another request may have more luck.
	spent   string
	readyAt time.Time
	pause   enrich.PauseReason
	// failures are exchanges that were not answers, broken the times that it could not
	// be asked when that was promised.
	failures, broken int
	// waited is how long it was waited for in the walk's lane while another could be
	// asked; of a job under way, for its next exchange.
	waited time.Duration
	// notBefore is until when it asked to be left alone, repeats why it is asked
	// once more then.
	notBefore   time.Time
	repeats     string
	resubmitted bool
	// job is the look-up under way.
	job  job
	told string // the drop that observers were told last
}

// timeToAnswer is kept of the budget, at most a tenth of it, so that what was
// found still reaches the caller.
const timeToAnswer = 20 * time.Millisecond

func (r *Router) newWalk(ctx context.Context, ask enrich.Ask) *walk {
	table := r.current.Load()
	now := time.Now()
	w := &walk{Router: r, table: table, strategy: table.planOf(ask.Account), ctx: ctx, ask: ask, since: now}
	deadline, _ := ctx.Deadline()
	w.deadline = deadline.Add(-min(timeToAnswer, deadline.Sub(now)/10))
	calls := w.strategy.calls[ask.Subject.Kind()]
	w.progress = make([]progress, len(calls))
	for i, c := range calls {
		w.progress[i].call = c
		if r.refusals.has(c.name, ask.Subject, now) {
			w.progress[i].spent = string(enrich.InvalidInput)
		}
	}
	for _, need := range ask.Needs {
		if bit, ok := bitOf(need.Attribute); ok {
			w.missing = w.missing.with(bit)
			w.sort(need, bit)
		}
	}
	w.standings = make([]standing, len(w.progress))
	w.planned.legs = make([]leg, 0, len(w.progress))
	w.awaited = r.late.awaiting(ask.Subject)
	return w
}

// sort puts a need into one set of each call that can supply it.
func (w *walk) sort(need enrich.Need, bit int) {
	permitted := mayAsk(w.ask.Account.Attributes, need.Attribute)
	for i := range w.progress {
		p := &w.progress[i]
		switch {
		case !p.call.supplies.has(bit) || !slices.Contains(need.Sources, p.call.name):
		case !permitted || !mayAsk(w.ask.Account.Providers, p.call.name):
			p.denied = p.denied.with(bit)
		case !p.call.trusted(bit, w.minConfidence):
			p.doubtful = p.doubtful.with(bit)
		default:
			p.open = p.open.with(bit)
		}
	}
}

// plan looks at where every call stands and decides.
func (w *walk) plan() plan {
	w.rise()
	w.takeIn()
	c := circumstances{
		now:      time.Now(),
		latest:   w.deadline.Add(-w.config.MinAttempt),
		missing:  w.missing,
		cheapest: w.order == Cheapest,
		purse:    w.ask.Purse,
	}
	if w.ctx.Err() != nil {
		c.latest = time.Time{}
	}
	for i := range w.progress {
		w.standings[i] = w.stand(&w.progress[i], c)
	}
	w.planned = w.planned.decide(c, w.standings)
	for _, d := range w.planned.drops {
		p := &w.progress[d.index]
		if p.told != d.reason && p.spent == "" {
			p.told = d.reason
			w.observer.Dropped(d.call.name, d.call.operation, d.reason)
			w.debug("dropped", d.call, slog.String("reason", d.reason))
		}
	}
	return w.planned
}

// stand tells where a call stands.
func (w *walk) stand(p *progress, c circumstances) standing {
	s := standing{call: p.call, open: p.open, barred: p.spent, readyAt: p.readyAt, pause: p.pause, parked: p.job.asked(), patience: w.patience(p)}
	switch {
	case s.can()&c.missing == 0 || s.barred != "":
		return s
	case p.call.learned.forbidden.Load():
		s.barred = string(enrich.Forbidden)
		return s
	}
	if until, running := w.inFlight(p.call.route); running {
		s.readyAt, s.inFlight = until, true
		if c.now.After(c.latest) {
			s.barred = enrich.ReasonInFlight
		}
		return s
	}
	s.readyAt = time.Time{}
	if until, ok := p.call.breaker.ready(); !ok {
		s.barred, s.readyAt = enrich.ReasonBreakerOpen, until
		return s
	}
	if refusal := w.quota.Forecast(w.quotaAsk(p)); refusal.Reason != "" {
		s.readyAt, s.waiting, s.pause = refusal.ReadyAt, refusal.Reason, refusal.Pause
		if refusal.Pause == enrich.PausedByBreaker {
			p.call.breaker.peerOpened(refusal.ReadyAt)
			s.barred = enrich.ReasonBreakerOpen
			return s
		}
	}
	if p.notBefore.After(c.now) && s.delay(p.notBefore) && s.waiting == "" {
		s.waiting = enrich.ReasonPaused
	}
	if until, news := p.call.breaker.silence.lasts(c.now); !until.IsZero() && p.job.step == nil {
		if news {
			w.log.Warn("a provider does not answer, others are asked first", "provider", p.call.name)
		}
		s.silent = true
		if until.After(c.latest) {
			until = c.latest
		}
		s.delay(until)
	}
	return s
}

// patience is how much longer it may be waited for while another could be asked at
// once.
func (w *walk) patience(p *progress) time.Duration {
	return max(w.config.Patience.In(w.ask.Lane)-p.waited, 0)
}

// quotaAsk is the call's next exchange as limits count it. A look-up pays with
// its first; between two exchanges it holds no place among the calls under way,
// while its money stays reserved.
func (w *walk) quotaAsk(p *progress) quota.Ask {
	ask := quota.Ask{
		Provider:  p.call.name,
		Operation: p.job.operation(p.call),
		Account:   w.ask.Account.Name,
		Weight:    w.ask.Account.Weight,
		Lane:      w.ask.Lane,
		Since:     w.since,
	}
	switch step := p.job.step; {
	case step == nil:
		ask.Price = max(p.job.price, p.call.price)
	case step.Poll:
		ask.Entities = -1 // what it asks for was counted when it was submitted
	}
	return ask
}

func (w *walk) debug(message string, c *call, attrs ...slog.Attr) {
	if !w.log.Enabled(w.ctx, slog.LevelDebug) {
		return
	}
	attrs = append(attrs, slog.String("provider", c.name), slog.String("operation", c.operation),
		slog.String("account", w.ask.Account.Name), slog.String("lane", string(w.ask.Lane)))
	w.log.LogAttrs(w.ctx, slog.LevelDebug, message, attrs...)
}
