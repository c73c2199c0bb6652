package jobs

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

// Enricher answers requests; enrich.Service does.
type Enricher interface {
	Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error)
}

// Parts are what an Engine works with. Sinks may be empty.
type Parts struct {
	Store *ledger.Store
	// Enricher recalls through a ledger.Keeper, so that what vendors answered
	// survives a crash.
	Enricher   Enricher
	Normalizer *email.Normalizer
	// Account returns who is called so, and false when nobody is.
	Account func(name string) (enrich.Account, bool)
	// Suppressions are asked at acceptance, before work and before delivery.
	Suppressions enrich.Suppressions
	Sinks        []sinks.Sink
	// Halts are stops that others keep, beside the ledger's; nil: none.
	Halts func() []ledger.Switch
	// Failing tells whether a provider fails for everybody, so that it is left
	// alone but for probes; nil: none is known to.
	Failing func(provider string) bool
	Log     *slog.Logger
}

// Engine accepts leads and works them off. It is safe for concurrent use.
type Engine struct {
	Parts
	config Config
	queue  Queue
	sinks  map[string]sinks.Sink
	crowd  crowd
	busy   sync.Map // ids of the leads that this process works

	// What callers and workers write at once; the bulk lane makes way.
	acceptances, patientAcceptances *ledger.Batcher[acceptance, Result]
	completions, patientCompletions *ledger.Batcher[completion, ledger.Ended]
	deliveries                      *ledger.Batcher[ledger.DeliveryEnd, bool]

	stop    context.CancelFunc
	ended   sync.WaitGroup
	started bool
}

// New makes the queue's tables and an engine that accepts but does not work yet.
func New(ctx context.Context, config Config, parts Parts) (*Engine, error) {
	e := &Engine{Parts: parts, config: config.WithDefaults(), sinks: map[string]sinks.Sink{}}
	for _, sink := range parts.Sinks {
		e.sinks[sink.Name()] = sink
	}
	e.acceptances = ledger.Together(e.accepting(parts.Store.Write))
	e.patientAcceptances = ledger.Together(e.accepting(parts.Store.MakeWay))
	e.completions = ledger.Together(e.completing(parts.Store.Write))
	e.patientCompletions = ledger.Together(e.completing(parts.Store.MakeWay))
	e.deliveries = ledger.Together(e.endDeliveries)
	queue, err := newQueue(ctx, parts.Store, e.config, map[Kind]Handler{Enrich: e.work, Deliver: e.deliver}, parts.Log)
	if err != nil {
		return nil, err
	}
	e.queue = queue
	return e, nil
}

// Queue is the engine's queue.
func (e *Engine) Queue() Queue { return e.queue }

// Start takes up what an earlier process left behind and works until Stop.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.queue.Start(ctx); err != nil {
		return err
	}
	if err := e.obeySwitches(ctx); err != nil { // lanes that were paused stayed so
		return errors.Join(err, e.queue.Stop(ctx))
	}
	if err := e.reconcile(ctx); err != nil {
		return errors.Join(err, e.queue.Stop(ctx))
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	e.stop, e.started = stop, true
	e.every(background, feedInterval, e.feed)
	e.every(background, switchInterval, e.obeySwitches)
	e.every(background, reconcileInterval, e.reconcile)
	e.every(background, wipeInterval, e.Store.Wipe)
	e.every(background, tidyInterval, func(ctx context.Context) error { return e.Store.Tidy(ctx, e.config.Keep) })
	return nil
}

// Stop begins no further job and waits for those that run.
func (e *Engine) Stop(ctx context.Context) error {
	if !e.started {
		return nil
	}
	e.stop()
	e.ended.Wait()
	return e.queue.Stop(ctx)
}

// requeue puts a lead into the queue, once more.
func (e *Engine) requeue(ctx context.Context, tx *sql.Tx, lead ledger.Lead) error {
	return e.queue.Submit(ctx, tx, Job{Kind: Enrich, Target: lead.ID, Lane: lead.Lane, Round: lead.Revision})
}
