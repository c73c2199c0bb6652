package router

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/enrichd/enrichd/enrich"
)

// table is what walks are made with. It is never changed: [Router.Apply] puts
// another in its place, and a walk keeps the one it began with.
type table struct {
	config   Config
	routes   []*route
	plans    map[string]*strategy
	standard *strategy
}

// strategy is a [Plan] with its blanks filled in.
type strategy struct {
	routes        []*route                 // in the listed order
	calls         [len(attributes)][]*call // by the kind of their subject, in that order
	order         Order
	minConfidence float64
	suppliers     []suppliers // by the attribute's place in the contract
}

// suppliers are the names of the providers that can supply an attribute, in the
// listed order; those included do so without a price of its own.
type suppliers struct{ all, included []string }

func suppliersOf(routes []*route) []suppliers {
	byPlace := make([]suppliers, len(enrich.Attributes()))
	for place, spec := range enrich.Attributes() {
		s, bit := &byPlace[place], attributeBits[place]
		for _, rt := range routes {
			supplies := func(free bool) bool {
				return slices.ContainsFunc(rt.calls, func(c *call) bool {
					return c.kind == spec.Attribute.Kind() && c.supplies.has(bit) && (!free || c.extra[bit] == 0)
				})
			}
			if supplies(false) {
				s.all = append(s.all, rt.name)
			}
			if supplies(true) {
				s.included = append(s.included, rt.name)
			}
		}
	}
	return byPlace
}

// route is the guarded way to one provider: what it can be asked, and what the
// router has learned of it, which outlasts tables.
type route struct {
	name    string
	vendor  vendor
	calls   []*call
	breaker *breaker
	retries *retryBudget
}

// Apply changes configuration and providers while walks go on: all of it, or
// nothing if something is wrong; the error joins everything that is. Walks under
// way finish with what they began with. What was learned of providers that stay
// is kept: breaker, hit rates, refusals, repeats, forbidden operations, late
// calls.
func (r *Router) Apply(config Config, providers []Provider) error {
	if err := validate(config, providers); err != nil {
		return err
	}
	r.applying.Lock()
	defer r.applying.Unlock()
	config = config.WithDefaults()
	before := r.current.Load()
	after := &table{config: config, plans: map[string]*strategy{}}
	for _, provider := range providers {
		after.routes = append(after.routes, r.newRoute(config, provider, before.route(provider.Name)))
	}
	after.standard = after.strategy(Plan{})
	for name, plan := range config.Plans {
		after.plans[name] = after.strategy(plan)
	}
	r.refusals.apply(config.RememberRefusals, config.RefusalsKept)
	r.current.Store(after)
	return nil
}

// route returns the route to a provider; nil if there is none.
func (t *table) route(provider string) *route {
	if i := slices.IndexFunc(t.routes, func(rt *route) bool { return rt.name == provider }); i >= 0 {
		return t.routes[i]
	}
	return nil
}

// strategy fills a plan's blanks in.
func (t *table) strategy(plan Plan) *strategy {
	s := &strategy{routes: t.routes, order: plan.Order, minConfidence: plan.MinConfidence}
	s.order = cmp.Or(s.order, t.config.Order)
	s.minConfidence = cmp.Or(s.minConfidence, t.config.MinConfidence)
	if plan.Providers != nil {
		s.routes = make([]*route, len(plan.Providers))
		for i, provider := range plan.Providers {
			s.routes[i] = t.route(provider)
		}
	}
	for _, rt := range s.routes {
		for _, c := range rt.calls {
			s.calls[c.kind] = append(s.calls[c.kind], c)
		}
	}
	s.suppliers = suppliersOf(s.routes)
	return s
}

// planOf is the strategy of the account's plan, or the default.
func (t *table) planOf(account enrich.Account) *strategy {
	if s := t.plans[account.Plan]; s != nil {
		return s
	}
	return t.standard
}

// newRoute makes a route, which goes on with what the one before has learned.
func (r *Router) newRoute(config Config, provider Provider, before *route) *route {
	provider.Timeout = cmp.Or(provider.Timeout, config.AttemptTimeout)
	provider.Pause = cmp.Or(provider.Pause, config.Pause)
	rt := &route{
		name:   provider.Name,
		vendor: vendor{Provider: provider.Lookup, timeout: provider.Timeout, pause: provider.Pause},
	}
	if before == nil {
		rt.retries = newRetryBudget(config.RetryRatio)
		rt.breaker = r.newBreaker(config, rt)
	} else {
		rt.retries = before.retries
		rt.retries.apply(config.RetryRatio)
		rt.breaker = before.breaker
		if settings := (breakerSettings{config.Breaker, rt.vendor.timeout}); settings != before.breaker.settings {
			rt.breaker = r.newBreaker(config, rt)
			rt.breaker.succeed(before.breaker)
		}
	}
	for _, offer := range provider.Calls {
		c := newCall(rt, offer)
		if before != nil {
			if i := slices.IndexFunc(before.calls, c.is); i >= 0 {
				c.learned = before.calls[i].learned
			}
		}
		rt.calls = append(rt.calls, c)
	}
	return rt
}

func (r *Router) newBreaker(config Config, rt *route) *breaker {
	return newBreaker(breakerSettings{config.Breaker, rt.vendor.timeout}, r.random(), func(c change) {
		attrs := []any{"provider", rt.name, "state", string(c.state)}
		if c.cause != nil {
			attrs = append(attrs, "cause", c.cause)
		}
		r.log.Warn("breaker changed", attrs...)
		r.observer.BreakerChanged(rt.name, c.state)
		if c.state == BreakerOpen && !c.hinted {
			// A pause is shared: it spares the other replicas the same failures,
			// and refuses those who wait for a token.
			r.quota.Pause(rt.name, c.until, enrich.PausedByBreaker)
		}
	})
}

// validate reports everything that is wrong with a configuration and its
// providers.
func validate(config Config, providers []Provider) error {
	problems := config.Validate()
	names := map[string]bool{}
	for _, provider := range providers {
		if names[provider.Name] {
			problems = append(problems, fmt.Errorf("provider %q is listed twice", provider.Name))
		}
		names[provider.Name] = true
		for _, problem := range provider.validate() {
			problems = append(problems, fmt.Errorf("provider %q: %w", provider.Name, problem))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(config.Plans)) {
		for i, provider := range config.Plans[name].Providers {
			if !names[provider] {
				problems = append(problems, fmt.Errorf("plans.%s.providers[%d]: no provider is named %q", name, i, provider))
			}
		}
	}
	return errors.Join(problems...)
}
