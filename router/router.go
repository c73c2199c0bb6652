// Package router asks the right providers, in the right order, within one
// deadline. It plans which calls can help in time and walks them until nothing
// is missing, and it alone repeats a call.
//
// A route is the one guarded way to a provider. Its order, from the outside
// in, is said here once and built in [Router.send]:
//
//	retry around quota around breaker around call
//
// so a repeated call takes a fresh token, a token is never waited for while a
// probe of a half-open breaker is held, and no vendor is called unseen.
//
//	Find ─► plan ──────► leg ─► quota ─► breaker ─► call ─► reaction
//	          ▲  drops      ▲                                   │
//	          │             └── again, poll, next step ◄────────┤
//	          └──────────────── next provider ◄─────────────────┘
//
// The plan and the reaction are pure: state in, a decision with its reason out.
// The reason is the same word in the answer, in logs, metrics and spans.
package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Parts are what a Router works with.
type Parts struct {
	Config Config
	// Providers in the listed order: primary, secondary, …
	Providers []Provider
	// Quota says when a provider may be called.
	Quota Quota
	// Observer is told what happens; nil: nobody.
	Observer Observer
	// Log receives decisions and what an operator must know; nil: nothing.
	Log *slog.Logger
	// Random returns numbers in [0, 1) for jitter, from any goroutine; nil: the
	// random generator of the process.
	Random func() float64
}

// Router finds facts by asking providers. It is safe for concurrent use.
type Router struct {
	current  atomic.Pointer[table]
	applying sync.Mutex // serializes Apply
	quota    Quota
	observer Observer
	log      *slog.Logger
	random   func() float64
	refusals *refusals
	late     lates
	crew     enrich.Crew // makes the calls
}

var _ enrich.Finder = (*Router)(nil)

// New makes a router. The error joins everything that is wrong with the parts.
func New(parts Parts) (*Router, error) {
	if parts.Quota == nil {
		return nil, errors.Join(errors.New("a router needs a quota"), validate(parts.Config, parts.Providers))
	}
	r := &Router{
		quota:    parts.Quota,
		observer: parts.Observer,
		log:      parts.Log,
		random:   parts.Random,
	}
	if r.observer == nil {
		r.observer = Unobserved{}
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.random == nil {
		r.random = rand.Float64
	}
	r.refusals = newRefusals()
	r.current.Store(&table{})
	if err := r.Apply(parts.Config, parts.Providers); err != nil {
		return nil, err
	}
	return r, nil
}

// Sources lists the providers that can supply an attribute to an account, in
// the listed order of its plan.
func (r *Router) Sources(account enrich.Account, a enrich.Attribute) []string {
	return r.sources(account, a, func(s suppliers) []string { return s.all })
}

// Included lists those of Sources that supply the attribute without a price of
// its own. A caller who names no attributes gets nothing from any other.
func (r *Router) Included(account enrich.Account, a enrich.Attribute) []string {
	return r.sources(account, a, func(s suppliers) []string { return s.included })
}

func (r *Router) sources(account enrich.Account, a enrich.Attribute, which func(suppliers) []string) []string {
	place := enrich.PlaceOf(a)
	if place < 0 || !mayAsk(account.Attributes, a) {
		return nil
	}
	names := which(r.current.Load().planOf(account).suppliers[place])
	if account.Providers == nil {
		return names
	}
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !mayAsk(account.Providers, name) })
}

// mayAsk tells whether a list of an account, of which nil permits everything,
// permits one thing.
func mayAsk[T comparable](permitted []T, one T) bool {
	return permitted == nil || slices.Contains(permitted, one)
}

// Find asks providers for what is needed, until ctx's deadline at the latest.
// Without one the default retry budget applies. Once ctx is cancelled no call
// begins any more, and Find returns when the one under way has ended.
func (r *Router) Find(ctx context.Context, ask enrich.Ask) enrich.Found {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, enrich.DefaultRetryBudget)
		defer cancel()
	}
	w := r.newWalk(ctx, ask)
	for {
		plan := w.decide()
		if len(plan.legs) == 0 || w.stopped != "" {
			return w.found(plan.drops)
		}
		w.ride(plan.legs[0])
	}
}

// Resume lets a provider be called again whose credentials, plan or credits the
// operator has put right.
func (r *Router) Resume(provider string) error { return r.resume(provider) }

// Renewed tells that a provider is called with other credentials from now on: what
// was found wrong with the former ones holds it up no more. Pauses that have
// nothing to do with them stay.
func (r *Router) Renewed(provider string) error {
	return r.resume(provider, enrich.PausedByAuth, enrich.PausedByScope, enrich.PausedByQuota)
}

func (r *Router) resume(provider string, reasons ...enrich.PauseReason) error {
	rt := r.current.Load().route(provider)
	if rt == nil {
		return fmt.Errorf("no provider is named %q", provider)
	}
	for _, c := range rt.calls {
		c.learned.forbidden.Store(false)
	}
	r.quota.Resume(provider, reasons...)
	return nil
}

// Health is what the router knows about one provider.
type Health struct {
	Provider string
	Breaker  BreakerState
	// OpenUntil is when an open breaker lets the next probe pass; zero unless
	// it is open.
	OpenUntil time.Time
	// Forbidden names the operations that the account may not use.
	Forbidden []string
	// HitRate is the learned share of wanted attributes that the provider
	// knows, from 0 to 1.
	HitRate float64
}

// Health reports about every provider, in the listed order.
func (r *Router) Health() []Health {
	var all []Health
	for _, rt := range r.current.Load().routes {
		health := Health{Provider: rt.name}
		health.Breaker, health.OpenUntil = rt.breaker.current()
		var rate mean
		for _, c := range rt.calls {
			if c.learned.forbidden.Load() {
				health.Forbidden = append(health.Forbidden, c.operation)
			}
			rate.add(c.learned.overall())
		}
		health.HitRate = rate.value()
		all = append(all, health)
	}
	return all
}
