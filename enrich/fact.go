package enrich

import (
	"cmp"
	"time"
)

// State is what a fact says about its attribute.
type State int

// The states of a fact. The zero State is not a fact.
const (
	StateValue      State = 1 + iota // there is a value
	StateAbsent                      // the source has finished and has none
	StateSuppressed                  // the source may not tell: a legal reason or an objection
)

// Fact is what one source said about one attribute. Facts are values and are
// never changed.
type Fact struct {
	Attribute Attribute
	State     State
	// Value is zero unless the State is StateValue.
	Value Value
	// Source is the provider's name.
	Source string
	// FetchedAt is when the call that brought the fact began, to the
	// millisecond.
	FetchedAt time.Time
	// Confidence runs from 0 to 1.
	Confidence float64
	// Price is the fact's part of what the call cost.
	Price Micros
}

// supersedes tells whether f replaces an earlier fact of the same attribute
// and source. It is a total order, so that the order in which two facts arrive
// cannot change a record.
func (f *Fact) supersedes(other *Fact) bool {
	return cmp.Or(
		f.FetchedAt.Compare(other.FetchedAt),
		-cmp.Compare(f.State, other.State), // a value before an absence
		cmp.Compare(f.Confidence, other.Confidence),
		cmp.Compare(f.Price, other.Price),
		f.Value.compare(other.Value),
	) > 0
}

// outranks tells whether f is the better answer of two facts about the same
// attribute from different sources: a value before an absence, then the more
// confident, the newer, and at last the source's name.
func (f *Fact) outranks(other *Fact) bool {
	return cmp.Or(
		-cmp.Compare(f.State, other.State),
		cmp.Compare(f.Confidence, other.Confidence),
		f.FetchedAt.Compare(other.FetchedAt),
		-cmp.Compare(f.Source, other.Source),
	) > 0
}
