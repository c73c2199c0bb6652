// Package config reads the one configuration file. It only composes what the
// packages declare as their own Config, so a field is described where it is
// obeyed; enrichd.example.yaml shows them together.
package config

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/idempotency"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/privacy"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
	"github.com/enrichd/enrichd/server"
	"github.com/enrichd/enrichd/sinks"
	"github.com/enrichd/enrichd/telemetry"
)

// Config is all that the program obeys. The zero Config runs, with no provider.
type Config struct {
	Log         Log                `yaml:"log"`
	Telemetry   telemetry.Config   `yaml:"telemetry"`
	Server      server.Config      `yaml:"server"`
	Accounts    accounts.Config    `yaml:"accounts"`
	Privacy     privacy.Config     `yaml:"privacy"`
	Idempotency idempotency.Config `yaml:"idempotency"`
	Email       email.Config       `yaml:"email"`
	Answers     enrich.Config      `yaml:"answers"`
	Cache       cache.Config       `yaml:"cache"`
	Router      router.Config      `yaml:"router"`
	Quota       quota.Config       `yaml:"quota"`
	Store       ledger.Config      `yaml:"store"`
	Jobs        jobs.Config        `yaml:"jobs"`
	Intake      intake.Config      `yaml:"intake"`
	Sinks       sinks.Config       `yaml:"sinks"`
	Digest      deadletter.Config  `yaml:"digest"`
	Providers   providers.Config   `yaml:"providers"`
}

// AcceptsLeads tells whether there is a store to accept leads into. A file whose
// store section says nothing is refused, for it hardly means none.
func (c Config) AcceptsLeads() bool { return c.Store != ledger.Config{} }

// Log is how much is logged.
type Log struct {
	// Level of what is logged at least: debug, info, warn or error. Default
	// info.
	Level slog.Level `yaml:"level"`
}

// problems lists what the packages find wrong with their parts.
func (c Config) problems() (all []Problem) {
	set, providerProblems := c.providers()
	for _, part := range []struct {
		path  string
		found []error
	}{
		{"telemetry", c.Telemetry.Validate()},
		{"server", c.Server.Validate()},
		{"accounts", c.Accounts.Validate()},
		{"privacy", c.Privacy.Validate()},
		{"idempotency", c.Idempotency.Validate()},
		{"email", unjoin(c.Email.Validate())},
		{"answers", c.Answers.Validate()},
		{"cache", c.Cache.Validate()},
		{"router", c.Router.Validate()},
		{"quota", c.Quota.Validate()},
		{"store", c.Store.Validate()},
		{"jobs", c.Jobs.Validate()},
		{"intake", c.Intake.Validate()},
		{"sinks", c.Sinks.Validate()},
		{"digest", c.Digest.Validate()},
		{"providers", providerProblems},
	} {
		for _, problem := range part.found {
			all = append(all, fieldProblem(part.path, problem.Error()))
		}
	}
	all = append(all, c.doubleCaps()...)
	if set != nil {
		all = append(all, c.names(set.Names())...)
	}
	return all
}

// providers builds the providers to see what is wrong with them, the limits of
// their definitions among it; nil when they cannot be built.
func (c Config) providers() (set *providers.Set, found []error) {
	set, err := providers.New(c.Providers, providers.Options{})
	if err != nil {
		return nil, unjoin(err)
	}
	defer set.Close()
	most := c.Quota.WithDefaults().MaxCall
	for i, vendor := range set.Vendors() {
		for _, problem := range quota.ValidateLimits(vendor.Limits()) {
			found = append(found, fmt.Errorf("list[%d]: %w", i, problem))
		}
		if vendor.Timeout() >= most {
			found = append(found, fmt.Errorf("list[%d]: timeout: %s is not shorter than quota.max_call, %s", i, vendor.Timeout(), most))
		}
	}
	return set, found
}

// fieldName is how the packages begin what they say about a field, or about a
// part of one.
var fieldName = regexp.MustCompile(`^([a-z_]+(?:\[[0-9]+\]|\.[a-z_]+)*): `)

// fieldProblem takes the names of fields off a message.
func fieldProblem(path, text string) Problem {
	for {
		name := fieldName.FindStringSubmatch(text)
		if name == nil {
			return Problem{Path: path, Text: text}
		}
		path, text = path+"."+name[1], text[len(name[0]):]
	}
}

// unjoin returns the errors that errors.Join made one, each with what was put
// before them together.
func unjoin(err error) (all []error) {
	if err == nil {
		return nil
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		joined, ok := inner.(interface{ Unwrap() []error })
		before, whole := strings.CutSuffix(err.Error(), inner.Error())
		if !ok || !whole {
			continue
		}
		for _, one := range joined.Unwrap() {
			for _, flat := range unjoin(one) {
				all = append(all, fmt.Errorf("%s%w", before, flat))
			}
		}
		return all
	}
	return []error{err}
}
