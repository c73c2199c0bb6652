package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
)

// parts are what stands behind the edge.
type parts struct {
	service *enrich.Service
	quotas  *quota.Keeper
	routes  *router.Router
	// closers release the parts, in the order of their making.
	closers []func(context.Context) error

	applying sync.Mutex // guards the rest
	vendors  *providers.Set
	leaving  leaving
}

// newParts builds everything behind the edge. dial opens the connections to
// vendors when it is set.
func newParts(config config.Config, log *slog.Logger, dial providers.Dial) (*parts, error) {
	p := &parts{}
	if err := p.build(config, log, dial); err != nil {
		return nil, errors.Join(err, p.close(context.Background()))
	}
	return p, nil
}

func (p *parts) build(config config.Config, log *slog.Logger, dial providers.Dial) error {
	normalizer, err := email.New(config.Email)
	if err != nil {
		return fmt.Errorf("email: %w", err)
	}
	records, err := cache.New(config.Cache, log)
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func(context.Context) error { return records.Close() })
	p.vendors, err = providers.New(config.Providers, providers.Options{Dial: dial})
	if err != nil {
		return fmt.Errorf("providers: %w", err)
	}
	p.closers = append(p.closers, func(context.Context) error { p.vendors.Close(); return nil })
	p.quotas, err = quota.New(config.Quota, limitsOf(p.vendors), quota.Options{Log: log})
	if err != nil {
		return err
	}
	p.closers = append(p.closers, func(context.Context) error { return p.quotas.Close() })
	p.routes, err = router.New(router.Parts{Config: config.Router, Providers: routesTo(p.vendors), Quota: p.quotas, Log: log})
	if err != nil {
		return fmt.Errorf("router: %w", err)
	}
	p.closers = append(p.closers, p.stopLeaving, p.routes.Close)
	p.service = &enrich.Service{
		Normalizer: normalizer,
		Cache:      records,
		Finder:     p.routes,
		Config:     config.Answers.WithDefaults(),
		Log:        log,
	}
	return nil
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
