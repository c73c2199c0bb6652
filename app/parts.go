package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/idempotency"
	"github.com/enrichd/enrichd/privacy"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
	"github.com/enrichd/enrichd/telemetry"
)

// parts are what stands behind the edge.
type parts struct {
	log       *slog.Logger
	telemetry *telemetry.Telemetry
	accounts  *accounts.Registry
	records   *cache.Cache
	quotas    *quota.Keeper
	routes    *router.Router
	counts    *counts
	repeats   *idempotency.Store
	eraser    *privacy.Eraser
	service   *enrich.Service
	// recall are the caches, over the ledger where there is one.
	recall enrich.Recall
	leads  leads
	// closers release the parts, in the order of their making.
	closers []func(context.Context) error
	// fixed is the quota's configuration that the program started with, some of
	// which holds until it ends.
	fixed quota.Config

	applying sync.Mutex // guards the rest
	vendors  *providers.Set
	leaving  leaving
}

// newParts builds everything behind the edge. dial opens the connections to
// vendors when it is set. When ctx ends the store is not waited for.
func newParts(ctx context.Context, config config.Config, log *slog.Logger, dial providers.Dial) (*parts, error) {
	p := &parts{log: log, fixed: config.Quota}
	for _, build := range []func() error{
		func() error { return p.buildTelemetry(config) },
		func() error { return p.buildAccounts(config) },
		func() error { return p.buildPrivacy(config) },
		func() error { return p.buildStores(config) }, // late calls are remembered
		func() error { return p.buildStore(ctx, config) },
		func() error { return p.buildRouting(config, dial) },
		func() error { return p.buildService(config) },
		func() error { return p.buildLeads(ctx, config) },
	} {
		if err := build(); err != nil {
			return nil, errors.Join(err, p.close(context.Background()))
		}
	}
	return p, nil
}

// closeWith has something released when the program ends, before what was made
// earlier.
func (p *parts) closeWith(release func() error) {
	p.closers = append(p.closers, func(context.Context) error { return release() })
}

func (p *parts) buildTelemetry(config config.Config) (err error) {
	if p.telemetry, err = telemetry.New(config.Telemetry, p.log); err != nil {
		return fmt.Errorf("telemetry: %w", err)
	}
	p.closers = append(p.closers, p.telemetry.Close)
	return nil
}

func (p *parts) buildAccounts(config config.Config) (err error) {
	if p.accounts, err = accounts.New(config.Accounts); err != nil {
		return fmt.Errorf("accounts: %w", err)
	}
	return nil
}

func (p *parts) buildPrivacy(config config.Config) error {
	suppressions, err := privacy.NewSuppressions(config.Privacy, p.log)
	if err != nil {
		return err
	}
	p.closeWith(suppressions.Close)
	p.eraser = &privacy.Eraser{Tags: privacy.NewTagger(config.Privacy.Pepper), Suppressions: suppressions, Places: p.places(), Log: p.log}
	if config.Privacy.Audit.File == "" {
		return nil
	}
	audit, err := privacy.NewAudit(config.Privacy, p.log)
	if err != nil {
		return err
	}
	p.closeWith(audit.Close)
	p.eraser.Audit = audit
	return nil
}

func (p *parts) buildStores(config config.Config) (err error) {
	if p.records, err = cache.New(config.Cache, p.log); err != nil {
		return err
	}
	p.closeWith(p.records.Close)
	if p.repeats, err = idempotency.New(config.Idempotency, p.log); err != nil {
		return fmt.Errorf("idempotency: %w", err)
	}
	p.closeWith(p.repeats.Close)
	return nil
}

func (p *parts) buildRouting(config config.Config, dial providers.Dial) (err error) {
	if p.vendors, err = providers.New(config.Providers, providers.Options{Dial: dial}); err != nil {
		return fmt.Errorf("providers: %w", err)
	}
	p.closeWith(func() error { p.vendors.Close(); return nil })
	metrics := p.telemetry.Metrics
	if p.quotas, err = quota.New(config.Spending(), limitsOf(p.vendors), quota.Options{Log: p.log, Observer: metrics.Quota()}); err != nil {
		return err
	}
	p.closeWith(p.quotas.Close)
	p.counts = newCounts(metrics.Router())
	if p.routes, err = router.New(router.Parts{
		Config: config.Router, Providers: routesTo(p.vendors), Quota: p.quotas, Log: p.log, Observer: p.counts,
	}); err != nil {
		return fmt.Errorf("router: %w", err)
	}
	p.closers = append(p.closers, p.stopLeaving, p.routes.Close)
	return nil
}

func (p *parts) buildService(config config.Config) error {
	normalizer, err := email.New(config.Email)
	if err != nil {
		return fmt.Errorf("email: %w", err)
	}
	p.service = &enrich.Service{
		Normalizer:   normalizer,
		Cache:        p.recall,
		Finder:       p.routes,
		Suppressions: p.eraser.Suppressions,
		Config:       config.Answers.WithDefaults(),
		Log:          p.log,
	}
	if p.records.KeepsRenderings() {
		p.service.Renderings = p.records
	}
	if p.eraser.Audit != nil {
		p.service.Auditor = p.eraser.Audit
	}
	sources := telemetry.Sources{
		Cache: p.records.Stats, Quota: p.quotas.Snapshot, Routes: p.routes.Health, StateFailures: p.quotas.StateFailures,
		Shadows: p.service.Comparisons, Privacy: p.privacy, Repeats: p.repeated,
	}
	if p.leads.store != nil {
		sources.Work = p.leads.counted.Load
	}
	p.telemetry.Metrics.Watch(sources)
	return nil
}

// privacy is the suppression list and the audit log as metrics show them.
func (p *parts) privacy() telemetry.Privacy {
	state := telemetry.Privacy{Suppressed: p.eraser.Suppressions.Len(), Owed: p.eraser.Suppressions.Owed()}
	if p.eraser.Audit != nil {
		stats := p.eraser.Audit.Stats()
		state.Audited, state.Unaudited = stats.Written, stats.Dropped
	}
	return state
}

// repeated is what repeats of requests came to, as metrics show it.
func (p *parts) repeated() telemetry.Repeats { return telemetry.Repeats(p.repeats.Stats()) }

// places are the stores that may know a subject. Look-ups are ended last, so that
// nothing they still bring is remembered.
func (p *parts) places() []privacy.Place {
	return []privacy.Place{
		{Name: "cache", Erase: func(ctx context.Context, key email.Key) (int, error) { return -1, p.recall.Forget(ctx, key) }},
		{Name: "answers", Erase: func(ctx context.Context, key email.Key) (int, error) { return p.repeats.EraseSubject(ctx, key) }},
		{Name: "flights", Erase: func(_ context.Context, key email.Key) (int, error) { return p.service.StopLookUps(key), nil }},
	}
}

// current is the set of providers that is configured now.
func (p *parts) current() *providers.Set {
	p.applying.Lock()
	defer p.applying.Unlock()
	return p.vendors
}

// close releases the parts, the last made first. It waits for what they have
// under way until ctx ends.
func (p *parts) close(ctx context.Context) error {
	var problems []error
	for i := len(p.closers) - 1; i >= 0; i-- {
		problems = append(problems, p.closers[i](ctx))
	}
	return errors.Join(problems...)
}

func limitsOf(vendors *providers.Set) map[string][]enrich.Limit {
	limits := map[string][]enrich.Limit{}
	for _, vendor := range vendors.Vendors() {
		limits[vendor.Name()] = vendor.Limits()
	}
	return limits
}

// routesTo tells the router what each vendor offers.
func routesTo(vendors *providers.Set) []router.Provider {
	var routes []router.Provider
	for _, vendor := range vendors.Vendors() {
		route := router.Provider{Name: vendor.Name(), Lookup: vendor, Timeout: vendor.Timeout()}
		for _, call := range vendor.Calls() {
			offer := router.Call{Operation: call.Operation, Kind: call.Kind, Price: call.Price.Micros, Unpriced: !call.Price.Known, Supplies: map[enrich.Attribute]router.Supply{}}
			for _, supply := range call.Supplies {
				if supply.Attribute.Kind() == call.Kind {
					offer.Supplies[supply.Attribute] = router.Supply{Confidence: supply.Confidence, Extra: supply.Extra}
				}
			}
			route.Calls = append(route.Calls, offer)
		}
		routes = append(routes, route)
	}
	return routes
}
