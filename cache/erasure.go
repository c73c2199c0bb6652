package cache

import (
	"math"
	"time"
)

// erasure refuses the facts of calls that began at its time or before, except
// in what Redis took after the erasure: there Redis has seen to it.
type erasure struct {
	at time.Time
	// version is the Redis time of the erasure in microseconds; unknown as long
	// as Redis has not heard of it.
	version uint64
}

// unknown is the version of an erasure that Redis has not heard of. No entry's
// is newer.
const unknown = math.MaxUint64

// apply returns what the erasure leaves of an entry, nil for nothing.
func (x erasure) apply(e *entry) *entry {
	if x.at.IsZero() || e.version > x.version {
		return e
	}
	return e.since(x.at)
}
