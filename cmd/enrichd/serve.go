package main

import (
	"context"
	"log/slog"

	"github.com/enrichd/enrichd/app"
	"github.com/enrichd/enrichd/config"
)

// serveCommand runs the service.
type serveCommand struct {
	Config string `short:"c" required:"" type:"existingfile" help:"The configuration file; docs/configuration.md explains it." placeholder:"FILE"`
}

// Run serves until the context ends.
func (c *serveCommand) Run(ctx context.Context, terminal terminal) error {
	loaded, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(terminal.err, &slog.HandlerOptions{Level: loaded.Log.Level}))
	for _, warning := range loaded.Warnings() {
		log.Warn("configuration", "warning", warning)
	}
	service, err := app.New(loaded, log)
	if err != nil {
		return listenHelp(err, "set server.grpc and server.http in "+c.Config)
	}
	return service.Run(ctx)
}
