package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
)

// operator does what operators ask the program for.
type operator struct {
	*parts
	reload    func(context.Context) (enrich.Reloaded, error)
	isAccount func(name string) bool
}

// Providers lists all providers in the configured order.
func (o operator) Providers(context.Context) ([]enrich.ProviderState, error) {
	quotas := map[string]quota.State{}
	for _, state := range o.quotas.Snapshot() {
		quotas[state.Provider] = state
	}
	breakers := map[string]router.BreakerState{}
	for _, health := range o.routes.Health() {
		breakers[health.Provider] = health.Breaker
	}
	off := map[quota.Scope]map[string]bool{quota.ScopeAll: {}, quota.ScopeProvider: {}, quota.ScopeAccount: {}}
	for _, stop := range o.quotas.Switches() {
		off[stop.Scope][stop.Name] = true
	}
	var all []enrich.ProviderState
	for _, vendor := range o.current().Vendors() {
		name := vendor.Name()
		counted, pause := o.counts.about(name), quotas[name].Pause
		state := enrich.ProviderState{
			Name: name, Definition: vendor.Definition().Name, Health: enrich.ProviderReady,
			Pause:   enrich.ProviderPause{Reason: pause.Reason, Until: pause.Until},
			Breaker: string(breakers[name]),
			Calls:   counted.calls, Outcomes: counted.outcomes, HitRate: counted.hitRate(), Spent: counted.spent,
		}
		switch {
		case off[quota.ScopeAll][""] || off[quota.ScopeProvider][name]:
			state.Health = enrich.ProviderSwitchedOff
		case pause.Reason != "":
			state.Health = enrich.ProviderPaused
		case breakers[name] != router.BreakerClosed:
			state.Health = enrich.ProviderFailing
		}
		for _, level := range quotas[name].Limits {
			state.Limits = append(state.Limits, enrich.LimitLeft{Name: level.Name, Unit: level.Unit, Amount: level.Amount, Left: level.Left, ResetAt: level.ResetAt})
		}
		all = append(all, state)
	}
	return all, nil
}

// Pause stops the calls to a provider.
func (o operator) Pause(ctx context.Context, provider, reason string, until time.Time) error {
	if err := o.known("provider", provider); err != nil {
		return err
	}
	o.log.WarnContext(ctx, "an operator pauses a provider", "provider", provider, "reason", reason, "until", until)
	o.quotas.Pause(provider, until, enrich.PausedByOperator)
	return nil
}

// Resume lets a provider be called again.
func (o operator) Resume(ctx context.Context, provider string) error {
	if err := o.known("provider", provider); err != nil {
		return err
	}
	o.log.WarnContext(ctx, "an operator resumes a provider", "provider", provider)
	return o.routes.Resume(provider)
}

// ForgetProvider drops all that a provider has said until now.
func (o operator) ForgetProvider(ctx context.Context, provider string) error {
	if err := o.known("provider", provider); err != nil {
		return err
	}
	if err := o.records.ForgetProvider(ctx, provider); err != nil {
		return unreached(err)
	}
	return nil
}

// known refuses what a field of a request names and is no provider.
func (o operator) known(field, provider string) error {
	if o.current().Vendor(provider) == nil {
		return invalid(field, "unknown_provider", "there is no provider of this name")
	}
	return nil
}

// scopes are the edge's words for the quota's.
var scopes = map[enrich.SwitchScope]quota.Scope{
	enrich.SwitchVendors: quota.ScopeAll, enrich.SwitchProvider: quota.ScopeProvider, enrich.SwitchAccount: quota.ScopeAccount,
}

// Switches lists those that are thrown.
func (o operator) Switches(context.Context) (all []enrich.Switch, err error) {
	for _, stop := range o.quotas.Switches() {
		thrown := enrich.Switch{Name: stop.Name, Reason: stop.Reason, Since: stop.Since, Configured: stop.Configured}
		for scope, same := range scopes {
			if same == stop.Scope {
				thrown.Scope = scope
			}
		}
		all = append(all, thrown)
	}
	return all, nil
}

// SetSwitch throws a switch or takes it back.
func (o operator) SetSwitch(ctx context.Context, set enrich.Switch, off bool) error {
	switch set.Scope {
	case enrich.SwitchProvider:
		if err := o.known("name", set.Name); err != nil {
			return err
		}
	case enrich.SwitchAccount:
		if !o.isAccount(set.Name) {
			return invalid("name", "unknown_account", "there is no account of this name")
		}
	}
	if err := o.quotas.Switch(ctx, scopes[set.Scope], set.Name, off, set.Reason); err != nil {
		return unreached(err)
	}
	if !off && o.stoppedByConfiguration(set) {
		return errConfigured
	}
	return nil
}

// errConfigured is the answer to who takes back what the configuration throws.
var errConfigured = &enrich.Error{
	Kind: enrich.Rejected, Reason: "configured_switch", Offset: -1,
	Message: "the configuration throws this switch, and it alone takes it back",
}

func (o operator) stoppedByConfiguration(set enrich.Switch) bool {
	return slices.ContainsFunc(o.quotas.Switches(), func(stop quota.Stop) bool {
		return stop.Configured && stop.Scope == scopes[set.Scope] && stop.Name == set.Name
	})
}

// Forget drops a subject from the caches.
func (o operator) Forget(ctx context.Context, named enrich.Named) ([]enrich.Dropped, error) {
	key, err := o.keyOf(named)
	if err != nil {
		return nil, err
	}
	var all []enrich.Dropped
	for _, place := range o.eraser.Places {
		if place.Name == leadsPlace {
			continue
		}
		dropped, err := place.Erase(ctx, key)
		if err != nil {
			o.log.ErrorContext(ctx, "a place could not be reached to forget a subject", "place", place.Name, "error", err)
		}
		all = append(all, enrich.Dropped{Place: place.Name, Entries: int64(dropped), Done: err == nil})
	}
	return all, nil
}

// Erase drops a subject everywhere and suppresses it.
func (o operator) Erase(ctx context.Context, named enrich.Named) (enrich.Erasure, error) {
	key, err := o.keyOf(named)
	if err != nil {
		return enrich.Erasure{}, err
	}
	proof, err := o.eraser.Erase(ctx, key)
	if err != nil {
		return enrich.Erasure{}, unreached(err)
	}
	o.log.WarnContext(ctx, "an operator erased a subject", "subject", proof.Subject, "complete", proof.Complete())
	return proof.Erasure, nil
}

// Lift takes a subject off the suppression list.
func (o operator) Lift(ctx context.Context, named enrich.Named) (enrich.Lifted, error) {
	key, err := o.keyOf(named)
	if err != nil {
		return enrich.Lifted{}, err
	}
	done, err := o.eraser.Lift(ctx, key)
	if err != nil {
		return enrich.Lifted{}, unreached(err)
	}
	o.log.WarnContext(ctx, "an operator lifted a suppression", "subject", done.Subject, "lifted", done.Was)
	return done, nil
}

// keyOf is the key of a subject that an operator names.
func (o operator) keyOf(named enrich.Named) (email.Key, error) {
	if named.Domain != "" {
		domain, err := o.service.Normalizer.NormalizeDomain(named.Domain)
		if err != nil {
			return email.Key{}, unreadable("domain", err)
		}
		return enrich.CompanySubject(domain).Key(), nil
	}
	address, err := o.service.Normalizer.Normalize(named.Email)
	if err != nil {
		return email.Key{}, unreadable("email", err)
	}
	return enrich.PersonSubject(address).Key(), nil
}

// Reload reads the configuration again.
func (o operator) Reload(ctx context.Context) (enrich.Reloaded, error) { return o.reload(ctx) }

func invalid(field, reason, message string) error {
	return &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: reason, Offset: -1, Message: message}
}

func unreadable(field string, cause error) error {
	refusal := &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: "syntax", Offset: -1, Message: fmt.Sprintf("the %s cannot be read", field), Cause: cause}
	var classed *email.Error
	if errors.As(cause, &classed) {
		refusal.Reason, refusal.Offset = string(classed.Class), classed.Offset
	}
	return refusal
}

// unreached is the error of what is done here and has yet to reach the other
// replicas or a disk. One that says itself what the caller can do is left as it is.
func unreached(cause error) error {
	var own *enrich.Error
	if errors.As(cause, &own) {
		return own
	}
	return &enrich.Error{Kind: enrich.Unavailable, Offset: -1, Message: "not everybody could be told; ask again", Cause: cause}
}
