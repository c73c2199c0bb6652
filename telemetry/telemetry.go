// Package telemetry shows what the program does: metrics for Prometheus, traces
// for an OpenTelemetry collector, logs as JSON. Nothing of it is ever in the way
// of a request: what cannot be written or sent is dropped, counted, and warned
// about once.
//
//	log := telemetry.NewLogger(os.Stderr, level, config.Telemetry)
//	seen, err := telemetry.New(config.Telemetry, log)
//	…                                       // parts are built with these:
//	quota.Options{Observer: seen.Metrics.Quota()}
//	router.Parts{Observer: seen.Metrics.Router()}
//	server, seen.Metrics.Finished           // told of every request
//	seen.Metrics.Watch(telemetry.Sources{…}) // what is asked when Prometheus asks
//	err = seen.Close(ctx)                   // last, so that the end is seen too
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
)

// Telemetry is what one process shows of itself. Safe for concurrent use.
type Telemetry struct {
	// Metrics are counted whether or not somebody asks for them.
	Metrics *Metrics

	admin  *admin
	traces *traces
	clock  *clock
}

// New begins to trace and to serve the admin listener as configured. Tracers
// of the whole process send their spans here, so a process has one Telemetry
// with traces. Close ends it.
func New(config Config, log *slog.Logger) (*Telemetry, error) {
	if problems := config.Validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	t := &Telemetry{Metrics: newMetrics(log)}
	listening, err := listenAdmin(config.Admin, t.Metrics.registry, log)
	if err != nil {
		return nil, fmt.Errorf("admin listener: %w", err)
	}
	t.admin = listening
	if t.traces, err = startTraces(config.Traces.WithDefaults(), t.Metrics.spans, log); err != nil {
		return nil, errors.Join(fmt.Errorf("traces: %w", err), t.admin.close(context.Background()))
	}
	t.clock = watchClock(&t.Metrics.clockJumps, log)
	return t, nil
}

// AdminAddress is where metrics and profiles are served; empty: nowhere.
func (t *Telemetry) AdminAddress() string { return t.admin.address() }

// Close sends the spans that are left and stops listening, until ctx ends. A
// collector that cannot be reached holds it up for the time of one try.
func (t *Telemetry) Close(ctx context.Context) error {
	t.clock.close()
	t.traces.close(ctx)
	return t.admin.close(ctx)
}
