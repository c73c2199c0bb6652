package cache

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
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
}

func newEntry(t tag, record enrich.Record, until time.Time) (*entry, error) {
	payload, err := encodeRecord(record)
	if err != nil {
		return nil, err
	}
	return &entry{tag: t, until: until.Truncate(time.Millisecond), payload: payload}, nil
}

// record decodes the payload.
func (e *entry) record() (enrich.Record, error) { return decodeRecord(e.payload) }

// join returns the entry that knows what both know, kept for as long as the
// longer of both and of the newer version. Either may be nil, and an entry that
// cannot be read counts as nil.
func (e *entry) join(other *entry) *entry {
	switch {
	case e == nil:
		return other
	case other == nil || e.payload == other.payload && e.version >= other.version && !e.until.Before(other.until):
		return e
	}
	mine, err := e.record()
	if err != nil {
		return other
	}
	theirs, err := other.record()
	if err != nil {
		return e
	}
	until := e.until
	if other.until.After(until) {
		until = other.until
	}
	joined, err := newEntry(e.tag, mine.Join(theirs), until)
	if err != nil {
		return e
	}
	joined.version = max(e.version, other.version)
	return joined
}

// since returns the entry without the facts of calls that began at the given
// time or before, or nil if nothing is left.
func (e *entry) since(erased time.Time) *entry {
	if e == nil {
		return nil
	}
	record, err := e.record()
	if err != nil {
		return nil
	}
	kept := record.Keep(func(fact enrich.Fact) bool { return fact.FetchedAt.After(erased) })
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
	left.version = e.version
	return left
}
