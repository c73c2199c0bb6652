package app

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/privacy"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
	"github.com/enrichd/enrichd/server"
	"github.com/enrichd/enrichd/sinks"
	"github.com/enrichd/enrichd/telemetry"
)

// leads are the parts of accepted work. Without a store they are all nil.
type leads struct {
	store   *ledger.Store
	engine  *jobs.Engine
	inbox   *deadletter.Inbox
	sinks   []sinks.Sink
	started atomic.Bool
	log     *slog.Logger
	counted atomic.Pointer[telemetry.Work] // nil: not, or not lately
	// beside runs until ended what goes on beside the engine.
	beside []func(ctx context.Context)
	ended  sync.WaitGroup
	end    context.CancelFunc
}

// leadsPlace is the name of accepted work in the proof of an erasure. Forgetting
// leaves it alone: it is no cache.
const leadsPlace = "leads"

// buildStore opens the ledger. What vendors answer is kept in it from then on.
func (p *parts) buildStore(ctx context.Context, config config.Config) (err error) {
	p.recall = p.records
	if !config.AcceptsLeads() {
		return nil
	}
	if p.leads.store, err = ledger.Open(ctx, config.Store); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	p.closeWith(p.leads.store.Close)
	p.recall = ledger.Keeper{Caches: p.records, Store: p.leads.store, Passes: p.records.Passes, Suppressions: p.eraser.Suppressions, Log: tellOnce(p.log)}
	return nil
}

// buildLeads makes what works accepted leads off, with the service that answers
// requests.
func (p *parts) buildLeads(ctx context.Context, config config.Config) (err error) {
	if p.leads.store == nil { // sinks are not opened either
		return nil
	}
	if p.leads.sinks, err = sinks.New(config.Sinks); err != nil {
		return err
	}
	for _, sink := range p.leads.sinks {
		p.closeWith(sink.Close)
	}
	p.leads.engine, err = jobs.New(ctx, config.Jobs, jobs.Parts{
		Store:        p.leads.store,
		Enricher:     enricher{service: p.service, metrics: p.telemetry.Metrics},
		Normalizer:   p.service.Normalizer,
		Account:      p.account(len(config.Accounts.List) > 0),
		Suppressions: p.eraser.Suppressions,
		Sinks:        p.leads.sinks,
		Halts:        p.halts,
		Failing:      p.failing,
		Log:          tellOnce(p.log),
	})
	if err != nil {
		return err
	}
	if wanted, got := config.Store.WithDefaults().Node, p.leads.store.Node(); got != wanted {
		p.log.Warn("another process works under this one's name: give each a store.node of its own", "node", wanted, "called", got)
	}
	p.leads.inbox = &deadletter.Inbox{Store: p.leads.store, Queue: p.leads.engine, Deadline: config.Jobs.WithDefaults().Deadline}
	p.leads.log, p.leads.beside = p.log, append(p.leads.beside, p.leads.countOn)
	if err := p.buildDigest(config.Digest); err != nil {
		return err
	}
	// Before look-ups are stopped, which is last: nothing new comes in any more.
	place := privacy.Place{Name: leadsPlace, Erase: func(ctx context.Context, key email.Key) (int, error) {
		erased, err := p.leads.engine.EraseSubject(ctx, key)
		return int(erased), err
	}}
	p.eraser.Places = slices.Insert(p.eraser.Places, len(p.eraser.Places)-1, place)
	return nil
}

// buildDigest has the digest of each day sent.
func (p *parts) buildDigest(config deadletter.Config) error {
	if !config.Enabled() {
		return nil
	}
	receiver, err := config.Receiver()
	if err != nil {
		return fmt.Errorf("digest: %w", err)
	}
	p.closeWith(receiver.Close)
	daily := &deadletter.Daily{Inbox: p.leads.inbox, Config: config, Sent: p.telemetry.Metrics.Digest, Log: p.log,
		Send: func(ctx context.Context, id string, body []byte) error {
			return receiver.Deliver(ctx, sinks.Message{ID: id, OperationKey: id, Body: body})
		}}
	p.leads.beside = append(p.leads.beside, daily.Run)
	return nil
}

// account tells who is called so. Without accounts everybody is one.
func (p *parts) account(closed bool) func(name string) (enrich.Account, bool) {
	if !closed {
		return func(name string) (enrich.Account, bool) {
			return enrich.Account{Name: config.OpenAccount}, name == config.OpenAccount
		}
	}
	return func(name string) (enrich.Account, bool) {
		caller, known := p.accounts.ByAccount(name)
		return caller.Account, known
	}
}

// failing tells whether a provider's breaker lets no calls pass but probes.
func (p *parts) failing(provider string) bool {
	return slices.ContainsFunc(p.routes.Health(), func(health router.Health) bool {
		return health.Provider == provider && health.Breaker != router.BreakerClosed
	})
}

// leads are the edge's, nil without a store.
func (a *App) leads() (*server.Leads, error) {
	accepted := &a.parts.leads
	if accepted.store == nil {
		return nil, nil
	}
	taken := a.config.Intake.WithDefaults()
	secrets, err := taken.Secrets()
	if err != nil {
		return nil, fmt.Errorf("intake: %w", err)
	}
	return &server.Leads{
		Store:          accepted.store,
		Engine:         accepted.engine,
		Inbox:          accepted.inbox,
		Importer:       &intake.Importer{Store: accepted.store, Acceptor: accepted.engine},
		EventSecrets:   secrets,
		EventPurpose:   taken.EventPurpose,
		MaxImportBytes: taken.MaxImportBytes,
		IsAccount:      a.isAccount,
		IsSink: func(name string) bool {
			return slices.ContainsFunc(accepted.sinks, func(sink sinks.Sink) bool { return sink.Name() == name })
		},
		Event: a.parts.telemetry.Metrics.Event,
	}, nil
}

// start takes up what an earlier process left behind, and works.
func (l *leads) start(ctx context.Context) error {
	if l.engine != nil {
		if err := l.engine.Start(ctx); err != nil {
			return err
		}
	}
	ctx, l.end = context.WithCancel(context.WithoutCancel(ctx))
	for _, run := range l.beside {
		l.ended.Go(func() { run(ctx) })
	}
	l.started.Store(true)
	return nil
}

// stop begins no further work and waits for what is under way.
func (l *leads) stop(ctx context.Context) error {
	if l.end != nil {
		l.end()
		l.ended.Wait()
	}
	if l.engine == nil {
		return nil
	}
	return l.engine.Stop(ctx)
}

// Problems tells that accepted work is not taken up yet.
func (l *leads) Problems() []string {
	if !l.started.Load() {
		return []string{"starting: accepted work is taken up"}
	}
	return nil
}

// halts are the switches of vendor calls in the words of accepted work: what no
// vendor may be asked for waits, and does not fail. What was found is delivered.
func (p *parts) halts() (stops []ledger.Switch) {
	for _, stop := range p.quotas.Switches() {
		halt := ledger.Switch{Reason: "switch", At: stop.Since}
		if stop.Configured {
			halt.Reason = "configuration"
		}
		switch stop.Scope {
		case quota.ScopeAccount:
			halt.Scope, halt.Name = ledger.ScopeAccount, stop.Name
			stops = append(stops, halt)
		case quota.ScopeAll:
			for _, lane := range enrich.Lanes {
				halt.Scope, halt.Name = ledger.ScopeLane, string(lane)
				stops = append(stops, halt)
			}
		}
	}
	return stops
}
