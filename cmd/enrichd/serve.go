package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/enrichd/enrichd/app"
	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/telemetry"
)

// serveCommand runs the service.
type serveCommand struct {
	Config string `short:"c" required:"" type:"existingfile" help:"The configuration file; docs/configuration.md explains it. It is read again when it changes, and on SIGHUP." placeholder:"FILE"`
}

// Run serves until the context ends.
func (c *serveCommand) Run(ctx context.Context, terminal terminal) error {
	loaded, err := config.Load(c.Config)
	if err != nil {
		return err
	}
	level := &slog.LevelVar{}
	level.Set(loaded.Log.Level)
	log := telemetry.NewLogger(terminal.err, level, loaded.Telemetry)
	limitMemory(log)
	for _, warning := range loaded.Warnings() {
		log.Warn("configuration", "warning", warning)
	}
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	service, err := app.New(ctx, loaded, app.Options{Log: log, Level: level, File: c.Config})
	switch {
	case err != nil && ctx.Err() != nil: // a stop while it starts is a stop
		return nil
	case err != nil:
		return listenHelp(err, "choose another address in "+c.Config+" (server.grpc, server.http, telemetry.admin)")
	}
	debug.FreeOSMemory() // what only the start needed
	paceGarbage(loaded.Cache.WithDefaults().MemoryBytes)
	releaseCode()
	following, stop := context.WithCancel(ctx)
	var group errgroup.Group
	group.Go(func() error { service.Follow(following, again); return nil })
	group.Go(func() error { defer stop(); return service.Run(ctx) })
	return group.Wait()
}
