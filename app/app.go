// Package app builds the program from its configuration, runs it, keeps it to a
// configuration that changes, and stops it. It is the only package that knows
// every part.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/server"
)

// Options are what the program gets besides its configuration.
type Options struct {
	// Log of the program; nil: nothing is logged.
	Log *slog.Logger
	// Level is that of Log, which a reload sets; nil: it stays.
	Level *slog.LevelVar
	// File is where the configuration comes from, for reloads; empty: it cannot
	// be reloaded.
	File string
}

// App is the program: built, listening, not yet answering.
type App struct {
	log    *slog.Logger
	level  *slog.LevelVar
	file   string
	parts  *parts
	server *server.Server
	closed bool // to callers who have no account

	reloading sync.Mutex // guards the rest
	config    config.Config
	files     []string // that the configuration depends on
	ending    bool     // nothing is reloaded any more
}

// New builds all parts and opens the listeners, unless ctx ends while the store is
// opened. Whoever built an App runs it.
func New(ctx context.Context, config config.Config, options Options) (*App, error) {
	a := &App{log: options.Log, level: options.Level, file: options.File, files: []string{options.File}, config: config}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.level == nil {
		a.level = &slog.LevelVar{}
	}
	a.level.Set(config.Log.Level)
	var err error
	if a.parts, err = newParts(ctx, config, a.log, nil); err != nil {
		return nil, err
	}
	edge := a.edge()
	if edge.Leads, err = a.leads(); err != nil {
		return nil, errors.Join(err, a.parts.close(context.Background()))
	}
	if a.server, err = server.Listen(config.Server, edge); err != nil {
		return nil, errors.Join(fmt.Errorf("server: %w", err), a.parts.close(context.Background()))
	}
	return a, nil
}

// edge are the parts that the edge stands before. Without accounts the service
// is open.
func (a *App) edge() server.Parts {
	counting := enricher{service: a.parts.service, metrics: a.parts.telemetry.Metrics}
	edge := server.Parts{
		Enricher:  counting,
		Reciter:   counting,
		Repeats:   a.parts.repeats,
		Operator:  operator{parts: a.parts, reload: a.Reload, isAccount: a.isAccount},
		Observer:  a.parts.telemetry.Metrics,
		Readiness: &a.parts.leads,
		Log:       a.log,
	}
	if a.closed = len(a.config.Accounts.List) > 0; a.closed {
		edge.Accounts = callers{a.parts.accounts}
	}
	return edge
}

// GRPCAddress is where gRPC is listened for.
func (a *App) GRPCAddress() string { return a.server.GRPCAddress() }

// HTTPAddress is where REST is listened for.
func (a *App) HTTPAddress() string { return a.server.HTTPAddress() }

// AdminAddress is where metrics are served; empty: nowhere.
func (a *App) AdminAddress() string { return a.parts.telemetry.AdminAddress() }

// Run answers and works until ctx ends, then stops in order: no new requests,
// requests and work under way finish, look-ups and late calls end and are
// remembered, parts are released.
func (a *App) Run(ctx context.Context) error {
	drainTimeout, providers := a.beginning() // what the listeners were opened with
	a.log.Info("serving", "grpc", a.GRPCAddress(), "rest", a.HTTPAddress(), "admin", a.parts.telemetry.AdminAddress(), "providers", providers)
	ctx, cancelRun := context.WithCancel(ctx)
	defer cancelRun()
	err := a.parts.leads.start(ctx)
	switch {
	case ctx.Err() != nil: // a stop while work is taken up is a stop
		err = nil
	case err != nil:
		cancelRun() // the listeners close
	}
	err = errors.Join(err, a.server.Serve(ctx))
	a.endReloads()
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	return errors.Join(err, a.parts.leads.stop(drain), a.parts.service.Close(drain), a.parts.close(drain))
}

// endReloads waits for a reload that is under way and lets no more begin: none may
// change parts that are being released.
func (a *App) endReloads() {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	a.ending = true
}

// beginning is what Run needs of the configuration, which may change meanwhile.
func (a *App) beginning() (drainTimeout time.Duration, providers int) {
	a.reloading.Lock()
	defer a.reloading.Unlock()
	return a.config.Server.WithDefaults().DrainTimeout, len(a.config.Providers.List)
}
