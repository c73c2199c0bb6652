package config

import (
	"fmt"
	"maps"
	"slices"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/quota"
)

// names are the problems with names of one section that another one should
// know.
func (c Config) names(providers []string) (found []Problem) {
	report := func(path, kind, name string, known []string) {
		if !slices.Contains(known, name) {
			found = append(found, Problem{Path: path, Text: fmt.Sprintf("there is no %s %q", kind, name)})
		}
	}
	callers, plans := c.accountNames(), slices.Sorted(maps.Keys(c.Router.Plans))
	for _, problem := range c.Accounts.ValidateNames(providers, plans) {
		found = append(found, fieldProblem("accounts", problem.Error()))
	}
	for _, name := range plans {
		for i, provider := range c.Router.Plans[name].Providers {
			report(fmt.Sprintf("router.plans.%s.providers[%d]", name, i), "provider", provider, providers)
		}
	}
	for i, limit := range c.Quota.Caps {
		report(fmt.Sprintf("quota.caps[%d].account", i), "account", limit.Account, append(callers, "", "*"))
		report(fmt.Sprintf("quota.caps[%d].provider", i), "provider", limit.Provider, append(providers, ""))
	}
	for i, provider := range c.Quota.Stopped.Providers {
		report(fmt.Sprintf("quota.stopped.providers[%d]", i), "provider", provider, providers)
	}
	for i, account := range c.Quota.Stopped.Accounts {
		report(fmt.Sprintf("quota.stopped.accounts[%d]", i), "account", account, callers)
	}
	return found
}

// OpenAccount is everybody's where there are no accounts.
const OpenAccount = "open"

func (c Config) accountNames() []string {
	if len(c.Accounts.List) == 0 {
		return []string{OpenAccount}
	}
	var names []string
	for _, account := range c.Accounts.List {
		names = append(names, account.Name)
	}
	return names
}

// doubleCaps reports accounts whose money is capped twice.
func (c Config) doubleCaps() (found []Problem) {
	for i, account := range c.Accounts.List {
		at := slices.IndexFunc(c.Quota.Caps, func(limit quota.Cap) bool { return limit.Account == account.Name && limit.Provider == "" })
		if account.Money != (accounts.Money{}) && at >= 0 {
			found = append(found, Problem{Path: fmt.Sprintf("accounts.list[%d].money", i), Text: fmt.Sprintf("quota.caps[%d] caps the account already", at)})
		}
	}
	return found
}

// Spending is the quota's configuration with the caps of the accounts.
func (c Config) Spending() quota.Config {
	all := c.Quota
	all.Caps = slices.Clone(all.Caps)
	for _, account := range c.Accounts.List {
		if account.Money != (accounts.Money{}) {
			all.Caps = append(all.Caps, quota.Cap{Account: account.Name, Day: account.Money.Day, Month: account.Money.Month, Zone: account.Money.Zone})
		}
	}
	return all
}

// shared names a field by which several replicas work together; empty: nothing
// tells of more than one.
func (c Config) shared() string {
	switch {
	case c.Privacy.Redis.Enabled():
		return "privacy.redis"
	case c.Quota.Redis.Enabled():
		return "quota.redis"
	case c.Store.PostgreSQL != "":
		return "store.postgresql"
	case c.Quota.Replicas > 1:
		return "quota.replicas"
	}
	return ""
}

// Warnings says what can be obeyed but is hardly meant.
func (c Config) Warnings() (warnings []string) {
	drain, budget := c.Server.WithDefaults().DrainTimeout, c.Answers.WithDefaults().RetryBudget
	if drain < budget {
		warnings = append(warnings, fmt.Sprintf(
			"server.drain_timeout, %s, is shorter than answers.retry_budget, %s: a stop can cut off answers that were paid for", drain, budget))
	}
	shared := c.shared()
	switch {
	case c.Privacy.Redis.Enabled():
	case c.Privacy.Suppression.File == "":
		warnings = append(warnings,
			"privacy: the suppression list is in memory alone: a restart forgets it, and other replicas do not know it")
	case shared != "":
		warnings = append(warnings, fmt.Sprintf(
			"%s without privacy.redis: replicas do not know each other's suppression lists, so who is erased at one is looked up again by the others", shared))
	}
	for _, part := range []struct {
		name   string
		shared bool
	}{{"cache", c.Cache.Redis.Enabled()}, {"idempotency", c.Idempotency.Redis.Enabled()}} {
		if shared != "" && !part.shared {
			warnings = append(warnings, fmt.Sprintf(
				"%s without %s.redis: an erasure cannot drop what other replicas have in memory, and with privacy.redis alone only hides it", shared, part.name))
		}
	}
	if len(c.Providers.List) == 0 {
		warnings = append(warnings, "providers: the list is empty, so nobody is asked and nothing is found")
	}
	if c.Digest.Enabled() && !c.AcceptsLeads() {
		warnings = append(warnings, "digest: there is no store, so there is nothing to tell of")
	}
	return warnings
}
