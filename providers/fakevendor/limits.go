package fakevendor

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// Limits is how often a fake vendor may be called.
type Limits struct {
	// Rules hold all at once, for each account. Absent: the limits that the
	// real vendor publishes for a paid plan; an empty list: none.
	Rules []strict.Limit `yaml:"rules"`
	// Bans keep an account out after too many offences. Absent: the published
	// ones; an empty list: none.
	Bans []strict.Ban `yaml:"bans"`
	// Hint is how a refusal says when to come back.
	Hint Hint `yaml:"hint"`
	// Silent keeps the dialect's own limit headers back.
	Silent bool `yaml:"silent"`
	// ClockSkew is how far the vendor's clock is ahead of ours, for its windows,
	// dates and hints; negative: behind.
	ClockSkew time.Duration `yaml:"clock_skew"`
}

func (l Limits) validate(d *dialect) error {
	problems := []error{strict.Validate(l.Rules, l.Bans), l.Hint.validate()}
	for i, rule := range l.Rules {
		for _, operation := range rule.Operations {
			if !slices.Contains(d.operations(), operation) {
				problems = append(problems, fmt.Errorf("limits[%d]: operations: %s has no %q but %v", i, d.name, operation, d.operations()))
			}
		}
	}
	if l.ClockSkew.Abs() > 366*24*time.Hour {
		problems = append(problems, fmt.Errorf("clock_skew: %s is more than a year", l.ClockSkew))
	}
	return errors.Join(problems...)
}

// mostRemembered bounds what the sliding logs and bans of all accounts keep.
const mostRemembered = 20_000_000

// judges makes a judge for every account.
func (l Limits) judges(keys []string) (map[string]*caller, error) {
	remembered := int64(0)
	for _, rule := range l.Rules {
		if rule.Shape == strict.Sliding {
			remembered += rule.Amount
		}
	}
	for _, ban := range l.Bans {
		remembered += int64(ban.After)
	}
	if remembered > mostRemembered/int64(len(keys)+1) {
		return nil, fmt.Errorf("limits: %d keys with %d calls to remember for each are more than %d together", len(keys)+1, remembered, mostRemembered)
	}
	callers := make(map[string]*caller, len(keys)+1)
	for _, key := range append(slices.Clone(keys), anyKey) {
		judge, err := strict.NewJudge(l.Rules, l.Bans)
		if err != nil {
			return nil, err
		}
		callers[key] = &caller{id: keyID(key), judge: judge}
	}
	return callers, nil
}

// anyKey is the caller of all keys where any is accepted, and of those that are
// not accepted for the bans that bad keys bring.
const anyKey = ""
