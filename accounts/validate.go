package accounts

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// label is the form of names that become labels of metrics.
var label = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

const (
	maxWeight   = 1000
	maxRequests = 1_000_000_000
	maxWindow   = 30 * 24 * time.Hour
)

// findings collects what is wrong, under the path of the account at hand.
type findings struct {
	problems []error
	path     string
}

func (f *findings) report(bad bool, format string, args ...any) {
	if bad {
		f.problems = append(f.problems, fmt.Errorf(f.path+format, args...))
	}
}

// Validate reports every field that cannot be obeyed, or that contradicts
// another, by its name. ValidateNames looks at what other packages know.
func (c Config) Validate() []error {
	found := &findings{}
	names, keys, certificates := map[string]string{}, map[digest]string{}, map[string]string{}
	for i, account := range c.WithDefaults().List {
		found.path = fmt.Sprintf("list[%d].", i)
		found.report(!label.MatchString(account.Name), "name: %q is not 1 to 63 lower-case letters, digits, dots, dashes and underscores", account.Name)
		first, again := names[account.Name]
		found.report(again && account.Name != "", "name: %q is that of %s too", account.Name, first)
		names[account.Name] = fmt.Sprintf("list[%d]", i)

		account.checkKeys(found, i, keys)
		account.checkCertificates(found, i, certificates)
		account.checkRights(found)
		account.checkPlans(found)
		account.checkMoney(found)
		account.checkRate(found)
	}
	return found.problems
}

func (a Account) checkKeys(found *findings, at int, seen map[digest]string) {
	for i, key := range a.Keys {
		hash, err := parseHash(key.Hash)
		if err != nil {
			found.report(true, "keys[%d].hash: %w", i, err)
			continue
		}
		first, again := seen[hash]
		found.report(again, "keys[%d].hash: is that of %s too", i, first)
		seen[hash] = fmt.Sprintf("list[%d].keys[%d]", at, i)
	}
}

func (a Account) checkCertificates(found *findings, at int, seen map[string]string) {
	for i, name := range a.Certificates {
		canonical, ok := canonicalName(name)
		found.report(!ok, "certificates[%d]: %q is neither a URI nor a host name", i, name)
		first, again := seen[canonical]
		found.report(ok && again, "certificates[%d]: is that of %s too", i, first)
		seen[canonical] = fmt.Sprintf("list[%d].certificates[%d]", at, i)
	}
}

func (a Account) checkRights(found *findings) {
	found.report(a.Weight < 0 || a.Weight > maxWeight, "weight: %d is not from 1 to %d", a.Weight, maxWeight)
	found.report(a.Lanes != nil && len(a.Lanes) == 0, "lanes: is empty; leave it out to allow all")
	for i, lane := range a.Lanes {
		known := lane == enrich.Interactive || lane == enrich.Standard || lane == enrich.Bulk
		found.report(!known, "lanes[%d]: %q is none of interactive, standard, bulk", i, lane)
	}
	found.report(a.Providers != nil && len(a.Providers) == 0, "providers: is empty; leave it out to allow all, or set paused")
	a.checkAttributes(found, "attributes", a.Attributes)
	for purpose, attributes := range a.Purposes {
		found.report(!label.MatchString(purpose), "purposes: %q is not 1 to 63 lower-case letters, digits, dots, dashes and underscores", purpose)
		a.checkAttributes(found, "purposes."+purpose, attributes)
		for i, attribute := range attributes {
			_, known := enrich.SpecOf(attribute)
			found.report(known && a.Attributes != nil && !slices.Contains(a.Attributes, attribute),
				"purposes.%s[%d]: the account may not see %s at all", purpose, i, attribute)
		}
	}
}

func (a Account) checkAttributes(found *findings, field string, attributes []enrich.Attribute) {
	found.report(attributes != nil && len(attributes) == 0, "%s: is empty; leave it out to allow all", field)
	for i, attribute := range attributes {
		_, known := enrich.SpecOf(attribute)
		found.report(!known, "%s[%d]: the contract has no attribute %q", field, i, attribute)
	}
}

func (a Account) checkPlans(found *findings) {
	found.report(a.Trial.Percent < 0 || a.Trial.Percent > 100, "trial.percent: %d is not from 0 to 100", a.Trial.Percent)
	found.report(a.Trial.Percent > 0 && a.Trial.Plan == "", "trial.plan: is missing")
	found.report(a.Shadow.DayCap < 0, "shadow.day_cap: %d is negative", a.Shadow.DayCap)
	found.report(a.Shadow.DayCap > 0 && a.Shadow.Plan == "", "shadow.plan: is missing")
}

func (a Account) checkMoney(found *findings) {
	_, err := time.LoadLocation(a.Money.Zone)
	found.report(err != nil, "money.zone: %q is not a time zone", a.Money.Zone)
	found.report(a.Money.Day < 0, "money.day: %d is negative", a.Money.Day)
	found.report(a.Money.Month < 0, "money.month: %d is negative", a.Money.Month)
	found.report(a.Money.Month > 0 && a.Money.Day > a.Money.Month, "money.day: %d is more than month, %d", a.Money.Day, a.Money.Month)
}

func (a Account) checkRate(found *findings) {
	found.report(a.Rate.Requests < 0 || a.Rate.Requests > maxRequests, "rate.requests: %d is not from 0 to %d", a.Rate.Requests, maxRequests)
	found.report(a.Rate.Window < time.Millisecond || a.Rate.Window > maxWindow, "rate.window: %s is not from 1ms to %s", a.Rate.Window, maxWindow)
}

// ValidateNames reports the names of providers and of the router's plans that
// accounts use and that do not exist.
func (c Config) ValidateNames(providers, plans []string) []error {
	found := &findings{}
	for i, account := range c.List {
		found.path = fmt.Sprintf("list[%d].", i)
		for j, name := range account.Providers {
			found.report(!slices.Contains(providers, name), "providers[%d]: there is no provider %q", j, name)
		}
		for _, plan := range []struct{ field, name string }{
			{"plan", account.Plan}, {"trial.plan", account.Trial.Plan}, {"shadow.plan", account.Shadow.Plan},
		} {
			found.report(plan.name != "" && !slices.Contains(plans, plan.name), "%s: there is no plan %q", plan.field, plan.name)
		}
	}
	return found.problems
}
