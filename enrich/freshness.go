package enrich

import (
	"fmt"
	"slices"
	"time"
)

// Freshness says how long facts count. What a fact is worth is decided when it
// is used, so a changed configuration holds for facts of before as well. The
// zero Freshness has the defaults.
type Freshness struct {
	// Attributes overrides the contract's freshness of single attributes.
	// Shorter costs more calls, longer risks stale answers.
	Attributes map[Attribute]time.Duration `yaml:"attributes"`
	// StaleFor is how long after its freshness a value may still answer while
	// it is asked for again, or when no vendor can answer. Default 7 days;
	// negative: never.
	StaleFor time.Duration `yaml:"stale_for"`
	// AbsentEverywhere is how long "none of the providers knows" stands before
	// all are asked again. Default 6 hours; negative: it never stands.
	AbsentEverywhere time.Duration `yaml:"absent_everywhere"`
	// AbsentAtOne is how long a provider that did not know is passed over
	// while others are still asked. Default 24 hours; negative: never.
	AbsentAtOne time.Duration `yaml:"absent_at_one"`
	// SuppressedFor is how long a provider that may not tell is passed over.
	// Default 30 days; negative: never.
	SuppressedFor time.Duration `yaml:"suppressed_for"`
}

const day = 24 * time.Hour

// WithDefaults returns f with its zero fields set.
func (f Freshness) WithDefaults() Freshness {
	for _, field := range []struct {
		value    *time.Duration
		fallback time.Duration
	}{
		{&f.StaleFor, 7 * day},
		{&f.AbsentEverywhere, 6 * time.Hour},
		{&f.AbsentAtOne, day},
		{&f.SuppressedFor, 30 * day},
	} {
		if *field.value == 0 {
			*field.value = field.fallback
		}
	}
	return f
}

// problems reports every field that cannot be obeyed.
func (f Freshness) problems() (problems []error) {
	for name, freshFor := range f.Attributes {
		if _, ok := SpecOf(name); !ok {
			problems = append(problems, fmt.Errorf("attributes: the contract has no attribute %q", name))
		}
		if freshFor <= 0 {
			problems = append(problems, fmt.Errorf("attributes: %s must be fresh for longer than %s", name, freshFor))
		}
	}
	return problems
}

// freshFor is how long a value of the attribute stays fresh.
func (f Freshness) freshFor(a Attribute) time.Duration {
	if overridden, ok := f.Attributes[a]; ok {
		return overridden
	}
	if place := PlaceOf(a); place >= 0 {
		return contract[place].FreshFor
	}
	return 0
}

// keepUntil is the last moment at which the fact can still be of use.
func (f Freshness) keepUntil(fact *Fact) time.Time {
	switch fact.State {
	case StateValue:
		return fact.FetchedAt.Add(f.freshFor(fact.Attribute)).Add(max(f.StaleFor, 0))
	case StateSuppressed:
		return fact.FetchedAt.Add(f.SuppressedFor)
	default:
		return fact.FetchedAt.Add(max(f.AbsentEverywhere, f.AbsentAtOne))
	}
}

// KeepUntil is the last moment at which any fact of the record can be of use.
func (f Freshness) KeepUntil(record Record) time.Time {
	var until time.Time
	for i := range record.facts {
		if t := f.keepUntil(&record.facts[i]); t.After(until) {
			until = t
		}
	}
	return until
}

// need decides whether an attribute without a fresh value must be asked for, by
// the facts about it: not when all the sources have recently said that they have
// none. Once that unanimous absence has expired, every source may be asked again.
func (f Freshness) need(a Attribute, facts []Fact, sources []string, now time.Time) (Need, bool) {
	var passed []string
	var latest time.Time
	for i := range facts {
		fact := &facts[i]
		switch {
		case !slices.Contains(sources, fact.Source):
		case fact.State == StateSuppressed && now.Before(fact.FetchedAt.Add(f.SuppressedFor)),
			fact.State == StateAbsent && now.Before(fact.FetchedAt.Add(f.AbsentAtOne)):
			passed = append(passed, fact.Source)
			if fact.FetchedAt.After(latest) {
				latest = fact.FetchedAt
			}
		}
	}
	if len(passed) == len(sources) {
		if len(sources) > 0 && !now.Before(latest.Add(f.AbsentEverywhere)) {
			return Need{Attribute: a, Sources: sources}, true
		}
		return Need{}, false
	}
	if len(passed) > 0 {
		sources = slices.DeleteFunc(slices.Clone(sources), func(s string) bool { return slices.Contains(passed, s) })
	}
	return Need{Attribute: a, Sources: sources}, true
}
