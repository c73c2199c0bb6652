// Package app builds the program from its configuration, runs it and stops it.
// It is the only package that knows every part.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
	"github.com/enrichd/enrichd/server"
)

// App is the program: built, listening, not yet answering.
type App struct {
	config  config.Config
	log     *slog.Logger
	service *enrich.Service
	server  *server.Server
	// closers release the parts, in the reverse order of their making.
	closers []func() error
}

// New builds all parts and opens the listeners. Whoever built an App runs it.
func New(config config.Config, log *slog.Logger) (*App, error) {
	a := &App{config: config, log: log}
	if err := a.build(); err != nil {
		return nil, errors.Join(err, a.close())
	}
	return a, nil
}

func (a *App) build() error {
	normalizer, err := email.New(a.config.Email)
	if err != nil {
		return fmt.Errorf("email: %w", err)
	}
	records, err := cache.New(a.config.Cache, a.log)
	if err != nil {
		return err
	}
	a.closers = append(a.closers, records.Close)
	vendors, err := providers.New(a.config.Providers, providers.Options{})
	if err != nil {
		return fmt.Errorf("providers: %w", err)
	}
	a.closers = append(a.closers, func() error { vendors.Close(); return nil })
	limits := map[string][]enrich.Limit{}
	for _, vendor := range vendors.Vendors() {
		limits[vendor.Name()] = vendor.Limits()
	}
	quotas, err := quota.New(a.config.Quota, limits, quota.Options{Log: a.log})
	if err != nil {
		return err
	}
	a.closers = append(a.closers, quotas.Close)
	routes, err := router.New(router.Parts{
		Config:    a.config.Router,
		Providers: routesTo(vendors.Vendors()),
		Quota:     quotas,
		Log:       a.log,
	})
	if err != nil {
		return fmt.Errorf("router: %w", err)
	}
	a.service = &enrich.Service{
		Normalizer: normalizer,
		Cache:      records,
		Finder:     routes,
		Config:     a.config.Answers.WithDefaults(),
		Log:        a.log,
	}
	a.server, err = server.Listen(a.config.Server, a.service, a.log)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	return nil
}

// GRPCAddress is where gRPC is listened for.
func (a *App) GRPCAddress() string { return a.server.GRPCAddress() }

// HTTPAddress is where REST is listened for.
func (a *App) HTTPAddress() string { return a.server.HTTPAddress() }

// Run answers until ctx ends, then stops in order: no new requests, requests
// under way finish, look-ups end and are remembered, parts are released.
func (a *App) Run(ctx context.Context) error {
	a.log.Info("serving", "grpc", a.GRPCAddress(), "rest", a.HTTPAddress(), "providers", len(a.config.Providers.List))
	err := a.server.Serve(ctx)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.config.Server.WithDefaults().DrainTimeout)
	defer cancel()
	return errors.Join(err, a.service.Close(drain), a.close())
}

func (a *App) close() error {
	var problems []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		problems = append(problems, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(problems...)
}

// routesTo tells the router what each vendor offers.
func routesTo(vendors []*providers.Vendor) []router.Provider {
	var routes []router.Provider
	for _, vendor := range vendors {
		route := router.Provider{Name: vendor.Name(), Lookup: vendor, Timeout: vendor.Timeout()}
		for _, call := range vendor.Calls() {
			offer := router.Call{Operation: call.Operation, Kind: call.Kind, Price: call.Price.Micros, Supplies: map[enrich.Attribute]router.Supply{}}
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
