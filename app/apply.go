package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// stay is how long the quotas of a provider that is no longer configured are
// kept: requests that began before may still wait for them, and none takes
// longer.
const stay = 10 * time.Minute

// leaving are the limits of providers that are no longer configured, until they
// are forgotten.
type leaving struct {
	limits map[string][]enrich.Limit
	forget *time.Timer
}

// apply changes the parts to another configuration, all of them or none: first
// what can fail, in an order that can be taken back, then the rest. Each part
// goes on with what it knows of providers that stay. Requests under way finish
// with what they began with. It lists the providers whose definitions have
// changed.
func (p *parts) apply(next config.Config) (definitions []string, err error) {
	p.applying.Lock()
	defer p.applying.Unlock()
	if problems := next.Accounts.Validate(); len(problems) > 0 {
		return nil, fmt.Errorf("accounts: %w", errors.Join(problems...))
	}
	vendors, err := p.vendors.Reload(next.Providers)
	if err != nil {
		return nil, fmt.Errorf("providers: %w", err)
	}
	before, after := limitsOf(p.vendors), limitsOf(vendors)
	gone := maps.Clone(p.leaving.limits)
	if gone == nil {
		gone = map[string][]enrich.Limit{}
	}
	maps.Copy(gone, before)
	maps.DeleteFunc(gone, func(name string, _ []enrich.Limit) bool { _, stays := after[name]; return stays })
	if err := p.quotas.ApplyConfig(p.quotasOf(next), joined(gone, after)); err != nil {
		return nil, err
	}
	if err := p.routes.Apply(next.Router, routesTo(vendors)); err != nil {
		return nil, errors.Join(fmt.Errorf("router: %w", err), p.quotas.Apply(joined(p.leaving.limits, before)))
	}
	_ = p.accounts.Apply(next.Accounts) // they were found good
	p.service.Apply(next.Answers)
	for _, vendor := range vendors.Vendors() {
		was := p.vendors.Vendor(vendor.Name())
		if was == nil {
			continue
		}
		if !was.Definition().Same(vendor.Definition()) {
			definitions = append(definitions, "definition of "+vendor.Name())
		}
		if !maps.Equal(was.Config().Credentials, vendor.Config().Credentials) {
			_ = p.routes.Renewed(vendor.Name()) // it is configured
		}
	}
	p.vendors.Retire(vendors)
	p.vendors = vendors
	p.leave(gone)
	return definitions, nil
}

// quotasOf is the quota's part of a configuration, with those fields kept that
// hold until the program ends.
func (p *parts) quotasOf(next config.Config) quota.Config {
	spending := next.Spending()
	spending.StateFile, spending.Replicas, spending.Redis, spending.MaxCall = p.fixed.StateFile, p.fixed.Replicas, p.fixed.Redis, p.fixed.MaxCall
	return spending
}

// leave forgets the quotas of providers that are gone, in a while.
func (p *parts) leave(gone map[string][]enrich.Limit) {
	if p.leaving.forget != nil {
		p.leaving.forget.Stop()
	}
	p.leaving = leaving{limits: gone}
	if len(gone) == 0 {
		return
	}
	p.leaving.forget = time.AfterFunc(stay, func() {
		p.applying.Lock()
		defer p.applying.Unlock()
		p.leaving = leaving{}
		_ = p.quotas.Apply(limitsOf(p.vendors)) // what was good beside others is good without them
	})
}

// stopLeaving ends the wait for what would be forgotten.
func (p *parts) stopLeaving(context.Context) error {
	p.applying.Lock()
	defer p.applying.Unlock()
	p.leave(nil)
	return nil
}

func joined(a, b map[string][]enrich.Limit) map[string][]enrich.Limit {
	both := maps.Clone(b)
	maps.Copy(both, a)
	return both
}
