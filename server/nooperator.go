package server

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// noOperator refuses what operators ask for.
type noOperator struct{}

var errNoOperator = &enrich.Error{Kind: enrich.Rejected, Reason: "no_operator", Offset: -1, Message: "this service was started without its operators' methods"}

func (noOperator) Providers(context.Context) ([]enrich.ProviderState, error) {
	return nil, errNoOperator
}

func (noOperator) Pause(context.Context, string, string, time.Time) error { return errNoOperator }

func (noOperator) Resume(context.Context, string) error { return errNoOperator }

func (noOperator) ForgetProvider(context.Context, string) error { return errNoOperator }

func (noOperator) Switches(context.Context) ([]enrich.Switch, error) { return nil, errNoOperator }

func (noOperator) SetSwitch(context.Context, enrich.Switch, bool) error { return errNoOperator }

func (noOperator) Forget(context.Context, enrich.Named) ([]enrich.Dropped, error) {
	return nil, errNoOperator
}

func (noOperator) Erase(context.Context, enrich.Named) (enrich.Erasure, error) {
	return enrich.Erasure{}, errNoOperator
}

func (noOperator) Lift(context.Context, enrich.Named) (enrich.Lifted, error) {
	return enrich.Lifted{}, errNoOperator
}

func (noOperator) Reload(context.Context) (enrich.Reloaded, error) {
	return enrich.Reloaded{}, errNoOperator
}
