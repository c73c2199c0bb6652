package cache

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/record"
)

// entry is what a tier keeps about one subject. Entries are never changed, so
// they may be shared by goroutines.
type entry struct {
	tag tag
	// version is the Redis time in microseconds at which Redis took the entry.
	// It grows with every write. 0: Redis never had it.
	version uint64
	// until is when the entry expires.
	until time.Time
	// payload is the encoded record.
	payload string
	// dirty is set when there are facts that Redis may lack.
	dirty bool
	// asOf is the moment at which Redis had nothing that the entry lacks; zero
	// if that is not known.
	asOf moment
}

// newEntry makes an entry of what Redis has not seen.
func newEntry(t tag, known enrich.Record, until time.Time) (*entry, error) {
	payload, err := record.Encode(known)
	if err != nil {
		return nil, err
	}
	return &entry{tag: t, until: until.Truncate(time.Millisecond), payload: payload, dirty: true}, nil
}

// record decodes the payload.
func (e *entry) record() (enrich.Record, error) { return record.Decode(e.payload) }

// covers tells whether a join with other would say nothing new.
func (e *entry) covers(other *entry) bool {
	return e.payload == other.payload && e.version >= other.version && !e.until.Before(other.until) &&
		!e.asOf.before(other.asOf) && (!e.dirty || other.dirty)
}

// join returns the entry that knows what both know, kept for as long as the
// longer of both and of the newer version. Either may be nil, and an entry that
// cannot be read counts as nil.
func (e *entry) join(other *entry) *entry {
	switch {
	case e == nil:
		return other
	case other == nil || e.covers(other):
		return e
	case other.covers(e):
		return other
	}
	mine, err := e.record()
	if err != nil {
		return other
	}
	theirs, err := other.record()
	if err != nil {
		return e
	}
	joined, err := newEntry(e.tag, mine.Join(theirs), e.until)
	if err != nil {
		return e
	}
	if other.until.After(joined.until) {
		joined.until = other.until
	}
	joined.version = max(e.version, other.version)
	joined.dirty = !e.stands(joined) && !other.stands(joined)
	joined.asOf = e.asOf
	if e.asOf.before(other.asOf) {
		joined.asOf = other.asOf
	}
	return joined
}

// stands tells whether e is in Redis and joined says the same.
func (e *entry) stands(joined *entry) bool {
	return !e.dirty && e.version == joined.version && e.payload == joined.payload && e.until.Equal(joined.until)
}

// keep returns the entry with the facts that are accepted alone, or nil if
// nothing is left.
func (e *entry) keep(accept func(enrich.Fact) bool) *entry {
	if e == nil {
		return nil
	}
	record, err := e.record()
	if err != nil {
		return nil
	}
	kept := record.Keep(accept)
	switch {
	case kept.IsEmpty():
		return nil
	case len(kept.Facts()) == len(record.Facts()):
		return e
	}
	left, err := newEntry(e.tag, kept, e.until)
	if err != nil {
		return nil
	}
	left.version, left.asOf = e.version, e.asOf
	return left
}

// since returns the entry without the facts of calls that began at the given
// time or before, or nil if nothing is left.
func (e *entry) since(erased time.Time) *entry {
	return e.keep(func(fact enrich.Fact) bool { return fact.FetchedAt.After(erased) })
}

// with returns a copy that is changed.
func (e *entry) with(change func(*entry)) *entry {
	changed := *e
	change(&changed)
	return &changed
}
