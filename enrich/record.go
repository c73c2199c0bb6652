package enrich

import (
	"cmp"
	"slices"
)

// Record is all facts about one subject: for each attribute at most one fact
// per source. The zero Record knows nothing. Records are values: no method
// changes one, so they may be shared by goroutines.
type Record struct {
	facts []Fact // sorted by attribute and source
}

// NewRecord makes a record of facts in any order.
func NewRecord(facts ...Fact) Record {
	sorted := slices.Clone(facts)
	slices.SortFunc(sorted, func(a, b Fact) int {
		if order := comparePlace(a, b); order != 0 {
			return order
		}
		if a.supersedes(b) {
			return -1
		}
		return 1
	})
	return Record{facts: slices.CompactFunc(sorted, func(a, b Fact) bool { return comparePlace(a, b) == 0 })}
}

// SortedRecord makes a record of facts that are sorted by attribute and source
// already, at most one for each, and takes the slice over. It returns false if
// they are not.
func SortedRecord(facts []Fact) (Record, bool) {
	for i := 1; i < len(facts); i++ {
		if comparePlace(facts[i-1], facts[i]) >= 0 {
			return Record{}, false
		}
	}
	return Record{facts: facts}, true
}

// Join returns the record that knows what both know. It is commutative,
// associative and idempotent: parallel calls, replays and late writes cannot
// change an answer.
func (r Record) Join(other Record) Record {
	switch {
	case len(r.facts) == 0:
		return other
	case len(other.facts) == 0:
		return r
	}
	return NewRecord(slices.Concat(r.facts, other.facts)...)
}

// Facts returns the facts sorted by attribute and source, not to be changed.
func (r Record) Facts() []Fact { return r.facts }

// IsEmpty tells whether nothing is known.
func (r Record) IsEmpty() bool { return len(r.facts) == 0 }

// About returns the facts about one attribute by source, not to be changed.
func (r Record) About(a Attribute) []Fact {
	start, _ := slices.BinarySearchFunc(r.facts, a, func(f Fact, a Attribute) int { return cmp.Compare(f.Attribute, a) })
	end := start
	for end < len(r.facts) && r.facts[end].Attribute == a {
		end++
	}
	return r.facts[start:end]
}

// Best returns the best fact about an attribute among those that use accepts,
// and false if there is none.
func (r Record) Best(a Attribute, use func(Fact) bool) (best Fact, ok bool) {
	for _, fact := range r.About(a) {
		if use(fact) && (!ok || fact.outranks(best)) {
			best, ok = fact, true
		}
	}
	return best, ok
}

// Keep returns the record of the facts that keep accepts.
func (r Record) Keep(keep func(Fact) bool) Record {
	var kept []Fact
	for _, fact := range r.facts {
		if keep(fact) {
			kept = append(kept, fact)
		}
	}
	return Record{facts: kept}
}

// comparePlace orders facts by attribute and source, of which a record keeps
// one each.
func comparePlace(a, b Fact) int {
	return cmp.Or(cmp.Compare(a.Attribute, b.Attribute), cmp.Compare(a.Source, b.Source))
}

// holds tells whether the fact is in the record.
func (r Record) holds(fact Fact) bool {
	for _, own := range r.About(fact.Attribute) {
		if own.Source == fact.Source {
			return !own.supersedes(fact) && !fact.supersedes(own)
		}
	}
	return false
}
