package enrich

import (
	"cmp"
	"iter"
	"slices"
	"sort"
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
		if order := comparePlace(&a, &b); order != 0 {
			return order
		}
		if a.supersedes(&b) {
			return -1
		}
		return 1
	})
	return Record{facts: slices.CompactFunc(sorted, func(a, b Fact) bool { return comparePlace(&a, &b) == 0 })}
}

// SortedRecord makes a record of facts that are sorted by attribute and source
// already, at most one for each, and takes the slice over. It returns false if
// they are not.
func SortedRecord(facts []Fact) (Record, bool) {
	for i := 1; i < len(facts); i++ {
		if comparePlace(&facts[i-1], &facts[i]) >= 0 {
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
	start := sort.Search(len(r.facts), func(i int) bool { return r.facts[i].Attribute >= a })
	facts, _ := cutFacts(r.facts[start:], a)
	return facts
}

// along gives the facts about each of the attributes, which are sorted: one walk
// instead of a search for each.
func (r Record) along(attributes []Attribute) iter.Seq2[Attribute, []Fact] {
	return func(yield func(Attribute, []Fact) bool) {
		rest := r.facts
		for _, a := range attributes {
			for len(rest) > 0 && rest[0].Attribute < a {
				rest = rest[1:]
			}
			var about []Fact
			if about, rest = cutFacts(rest, a); !yield(a, about) {
				return
			}
		}
	}
}

// cutFacts cuts sorted facts behind the first ones, if those are about an
// attribute.
func cutFacts(facts []Fact, a Attribute) (about, rest []Fact) {
	n := 0
	for n < len(facts) && facts[n].Attribute == a {
		n++
	}
	return facts[:n], facts[n:]
}

// Best returns the best fact about an attribute among those that use accepts,
// and false if there is none.
func (r Record) Best(a Attribute, use func(Fact) bool) (Fact, bool) {
	if fact := best(r.About(a), func(fact *Fact) bool { return use(*fact) }); fact != nil {
		return *fact, true
	}
	return Fact{}, false
}

// best returns the best of the facts that use accepts, nil for none.
func best(facts []Fact, use func(*Fact) bool) (best *Fact) {
	for i := range facts {
		if fact := &facts[i]; use(fact) && (best == nil || fact.outranks(best)) {
			best = fact
		}
	}
	return best
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
func comparePlace(a, b *Fact) int {
	if order := cmp.Compare(a.Attribute, b.Attribute); order != 0 {
		return order
	}
	return cmp.Compare(a.Source, b.Source)
}

// is tells whether both are one and the same, without looking at the facts.
func (r Record) is(other Record) bool {
	return len(r.facts) == len(other.facts) && (len(r.facts) == 0 || &r.facts[0] == &other.facts[0])
}

// holds tells whether the fact is in the record.
func (r Record) holds(fact *Fact) bool {
	about := r.About(fact.Attribute)
	for i := range about {
		if own := &about[i]; own.Source == fact.Source {
			return !own.supersedes(fact) && !fact.supersedes(own)
		}
	}
	return false
}
