package deadletter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// Control enriches a lead once more without writing anything down; jobs.Engine
// does. The answer is a report as it is stored.
type Control interface {
	Control(ctx context.Context, lead ledger.Lead) ([]byte, error)
}

// Difference is what two answers say about one attribute.
type Difference struct {
	Attribute enrich.Attribute `json:"attribute"`
	Same      bool             `json:"same"`
	Old       Side             `json:"old"`
	New       Side             `json:"new"`
}

// Side is one answer's word on an attribute: a value with its source, or the
// reason of a gap. The zero Side was not asked for.
type Side struct {
	Value  json.RawMessage `json:"value,omitempty"`
	Source string          `json:"source,omitempty"`
	Gap    string          `json:"gap,omitempty"`
}

// stored is what of a report is compared.
type stored struct {
	Facts map[enrich.Attribute]struct {
		Value  json.RawMessage `json:"value"`
		Source string          `json:"source"`
	} `json:"facts"`
	Gaps map[enrich.Attribute]string `json:"gaps"`
}

// side returns what the report says about an attribute.
func (s stored) side(attribute enrich.Attribute) Side {
	if fact, found := s.Facts[attribute]; found {
		return Side{Value: fact.Value, Source: fact.Source}
	}
	return Side{Gap: s.Gaps[attribute]}
}

// Compare asks again for a lead and shows the stored and the new answer side by
// side. The stored one stays.
func Compare(ctx context.Context, store *ledger.Store, control Control, lead string) ([]Difference, error) {
	known, err := store.Lead(ctx, lead)
	if err != nil {
		return nil, err
	}
	fresh, err := control.Control(ctx, known)
	if err != nil {
		return nil, err
	}
	return Differences(known.Result, fresh)
}

// Differences compares two reports by attribute, in the order of their names. An
// empty one says nothing.
func Differences(before, after []byte) ([]Difference, error) {
	old, err := read(before)
	if err != nil {
		return nil, err
	}
	fresh, err := read(after)
	if err != nil {
		return nil, err
	}
	seen := map[enrich.Attribute]bool{}
	for _, one := range []stored{old, fresh} {
		for attribute := range one.Facts {
			seen[attribute] = true
		}
		for attribute := range one.Gaps {
			seen[attribute] = true
		}
	}
	var all []Difference
	for attribute := range seen {
		d := Difference{Attribute: attribute, Old: old.side(attribute), New: fresh.side(attribute)}
		d.Same = bytes.Equal(d.Old.Value, d.New.Value) && (d.Old.Value != nil || d.Old.Gap == d.New.Gap)
		all = append(all, d)
	}
	slices.SortFunc(all, func(a, b Difference) int { return cmp.Compare(a.Attribute, b.Attribute) })
	return all, nil
}

func read(report []byte) (s stored, err error) {
	if len(report) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(report, &s); err != nil {
		return s, fmt.Errorf("deadletter: a report cannot be read: %w", err)
	}
	return s, nil
}
