package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Parts are what the edge stands before. Enricher is needed; the others' zero
// values do nothing.
type Parts struct {
	Enricher Enricher
	Reciter  Reciter
	// Accounts tells who asks. Nil: the service is open, everybody is the one
	// account "open", an operator too, and the listeners are for this machine
	// unless Config.AllowRemote is set.
	Accounts Accounts
	Repeats  Repeats
	Operator Operator
	// Leads are accepted and worked off; nil: there is no store.
	Leads    *Leads
	Observer Observer
	// Readiness; nil: ready as soon as the service listens.
	Readiness Readiness
	// Log receives what callers cannot be told; nil: nobody does.
	Log *slog.Logger
}

func (p Parts) withDefaults() Parts {
	if p.Accounts == nil {
		p.Accounts = everybody{}
	}
	if p.Reciter == nil {
		p.Reciter = noReciter{}
	}
	if p.Repeats == nil {
		p.Repeats = noRepeats{}
	}
	if p.Operator == nil {
		p.Operator = noOperator{}
	}
	if p.Observer == nil {
		p.Observer = noObserver{}
	}
	if p.Readiness == nil {
		p.Readiness = alwaysReady{}
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return p
}

// Enricher answers requests; *enrich.Service is one.
type Enricher interface {
	Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error)
	// EnrichAll calls each once for every request, with its place, from the
	// calling goroutine.
	EnrichAll(ctx context.Context, requests []enrich.Request, each func(i int, answer enrich.Answer, err error))
}

// Caller is who asks, and what is allowed.
type Caller struct {
	Account enrich.Account
	// Admin is the right to call the operators' methods.
	Admin bool
	// Rate bounds the account's requests. All callers of one account share it.
	Rate Rate
}

// Accounts know the callers. It is asked for every request and answers from
// memory.
type Accounts interface {
	// ByKey returns whom an API key belongs to. It takes the same time for every
	// key that it does not know, the empty one included.
	ByKey(key string) (caller Caller, known bool)
	// ByName returns whom a name in a client's verified certificate belongs to:
	// a URI or DNS name it was issued for, or its subject's common name.
	ByName(name string) (caller Caller, known bool)
}

// everybody takes everyone for the account of an open service.
type everybody struct{}

func (everybody) ByKey(string) (Caller, bool) {
	return Caller{Account: enrich.Account{Name: "open"}, Admin: true}, true
}

func (everybody) ByName(string) (Caller, bool) { return Caller{}, false }

// Repeats keep answers under the keys that callers gave them.
type Repeats interface {
	// Do returns the answer kept under an account's key; without one it calls
	// work and keeps the answer for the day, unless work fails. Of several at once
	// one works, in its own goroutine, and the others wait for it and share its
	// error. Subjects are those the answer tells of: whoever erases one of them
	// drops the answer. A key that was used with another fingerprint is an
	// [enrich.Error] with [enrich.ReasonKeyReused].
	Do(ctx context.Context, account, key string, fingerprint [32]byte,
		work func(context.Context) (answer []byte, subjects []email.Key, err error)) (answer []byte, err error)
}

// noRepeats keeps nothing.
type noRepeats struct{}

func (noRepeats) Do(ctx context.Context, _, _ string, _ [32]byte, work func(context.Context) ([]byte, []email.Key, error)) ([]byte, error) {
	answer, _, err := work(ctx)
	return answer, err
}

// Operator does what operators ask for. Its errors are [enrich.Error]s; one
// about an unknown provider or account is Invalid and names the field.
type Operator interface {
	// Providers lists all providers in the configured order.
	Providers(ctx context.Context) ([]enrich.ProviderState, error)
	// Pause stops the calls to a provider; the zero until: until it is resumed.
	Pause(ctx context.Context, provider, reason string, until time.Time) error
	Resume(ctx context.Context, provider string) error
	// ForgetProvider drops all that a provider has said until now.
	ForgetProvider(ctx context.Context, provider string) error
	// Switches lists those that are thrown.
	Switches(ctx context.Context) ([]enrich.Switch, error)
	// SetSwitch throws a switch (off) or takes it back.
	SetSwitch(ctx context.Context, set enrich.Switch, off bool) error
	// Forget drops a subject from the caches.
	Forget(ctx context.Context, subject enrich.Named) ([]enrich.Dropped, error)
	// Erase drops a subject everywhere and suppresses it.
	Erase(ctx context.Context, subject enrich.Named) (enrich.Erasure, error)
	// Lift takes a subject off the suppression list.
	Lift(ctx context.Context, subject enrich.Named) (enrich.Lifted, error)
	// Reload reads the configuration again.
	Reload(ctx context.Context) (enrich.Reloaded, error)
}

// Observer is told of every request that has ended. It must not wait.
type Observer interface {
	// Finished has the request's trace, if it is traced, in ctx, the contract's
	// method ("Enrich"), gRPC's name of the code ("OK"), the account's name, empty
	// where the caller was not known, and where the answer came from: the word of
	// the slowest of "memory", "redis" and "vendor" that was asked, or "none". The
	// questions of a batch or a stream are told of one by one, under the methods
	// "BatchEnrich.item" and "StreamEnrich.item", beside the call itself.
	Finished(ctx context.Context, method, code, account, source string, took time.Duration)
}

type noObserver struct{}

func (noObserver) Finished(_ context.Context, _, _, _, _ string, _ time.Duration) {}

// Readiness tells whether new requests are welcome.
type Readiness interface {
	// Problems says in a sentence each, without secrets, why they are not; empty
	// when they are.
	Problems() []string
}

type alwaysReady struct{}

func (alwaysReady) Problems() []string { return nil }
