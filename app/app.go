// Package app builds the program from its configuration, runs it and stops it.
// It is the only package that knows every part.
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/server"
)

// App is the program: built, listening, not yet answering.
type App struct {
	config config.Config
	log    *slog.Logger
	parts  *parts
	server *server.Server
}

// New builds all parts and opens the listeners. Whoever built an App runs it.
func New(config config.Config, log *slog.Logger) (*App, error) {
	parts, err := newParts(config, log, nil)
	if err != nil {
		return nil, err
	}
	listening, err := server.Listen(config.Server, server.Parts{Enricher: parts.service, Log: log})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("server: %w", err), parts.close(context.Background()))
	}
	return &App{config: config, log: log, parts: parts, server: listening}, nil
}

// GRPCAddress is where gRPC is listened for.
func (a *App) GRPCAddress() string { return a.server.GRPCAddress() }

// HTTPAddress is where REST is listened for.
func (a *App) HTTPAddress() string { return a.server.HTTPAddress() }

// Run answers until ctx ends, then stops in order: no new requests, requests
// under way finish, look-ups and late calls end and are remembered, parts are
// released.
func (a *App) Run(ctx context.Context) error {
	a.log.Info("serving", "grpc", a.GRPCAddress(), "rest", a.HTTPAddress(), "providers", len(a.config.Providers.List))
	err := a.server.Serve(ctx)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.config.Server.WithDefaults().DrainTimeout)
	defer cancel()
	return errors.Join(err, a.parts.service.Close(drain), a.parts.close(drain))
}
