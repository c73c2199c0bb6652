package app

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/privacy"
	"github.com/enrichd/enrichd/server"
	"github.com/enrichd/enrichd/sinks"
)

// leads are the parts of accepted work. Without a store they are all nil.
type leads struct {
	store   *ledger.Store
	engine  *jobs.Engine
	sinks   []sinks.Sink
	started atomic.Bool
	jobs    jobs.Config
}

// leadsPlace is the name of accepted work in the proof of an erasure. Forgetting
// leaves it alone: it is no cache.
const leadsPlace = "leads"

// buildStore opens the ledger. What vendors answer is kept in it from then on.
func (p *parts) buildStore(config config.Config) (err error) {
	p.recall = p.records
	if !config.AcceptsLeads() {
		return nil
	}
	if p.leads.store, err = ledger.Open(context.Background(), config.Store); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	p.closeWith(p.leads.store.Close)
	p.recall = ledger.Keeper{Caches: p.records, Store: p.leads.store, Passes: p.records.Passes, Log: p.log}
	return nil
}

// buildLeads makes what works accepted leads off, with the service that answers
// requests.
func (p *parts) buildLeads(config config.Config) (err error) {
	if p.leads.store == nil { // sinks are not opened either
		return nil
	}
	if p.leads.sinks, err = sinks.New(config.Sinks); err != nil {
		return err
	}
	for _, sink := range p.leads.sinks {
		p.closeWith(sink.Close)
	}
	p.leads.jobs = config.Jobs.WithDefaults()
	p.leads.engine, err = jobs.New(context.Background(), config.Jobs, jobs.Parts{
		Store:        p.leads.store,
		Enricher:     enricher{service: p.service, metrics: p.telemetry.Metrics},
		Normalizer:   p.service.Normalizer,
		Account:      p.account(len(config.Accounts.List) > 0),
		Suppressions: p.eraser.Suppressions,
		Sinks:        p.leads.sinks,
		Log:          p.log,
	})
	if err != nil {
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
		Inbox:          &deadletter.Inbox{Store: accepted.store, Queue: accepted.engine, Deadline: accepted.jobs.Deadline},
		Importer:       &intake.Importer{Store: accepted.store, Acceptor: accepted.engine},
		EventSecrets:   secrets,
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
			return fmt.Errorf("jobs: %w", err)
		}
	}
	l.started.Store(true)
	return nil
}

// stop begins no further work and waits for what is under way.
func (l *leads) stop(ctx context.Context) error {
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

// obey has accepted work follow the switches of vendor calls: what no vendor may
// be asked for waits, and does not fail.
func (l *leads) obey(ctx context.Context, set enrich.Switch, off bool) error {
	if l.engine == nil {
		return nil
	}
	scope, follows := map[enrich.SwitchScope]ledger.Scope{enrich.SwitchVendors: ledger.ScopeAll, enrich.SwitchAccount: ledger.ScopeAccount}[set.Scope]
	switch {
	case !follows:
		return nil
	case off:
		return l.engine.Pause(ctx, scope, set.Name, "switch")
	default:
		return l.engine.Resume(ctx, scope, set.Name)
	}
}
