package cache

import (
	"errors"
	"sync/atomic"

	"github.com/enrichd/enrichd/enrich"
)

// Stats counts what the cache did since it was made.
type Stats struct {
	// MemoryHits and RedisHits are recalls that a tier answered, Misses those
	// that none did.
	MemoryHits, RedisHits, Misses uint64
	// RedisFailures are calls to Redis that failed or were not tried because
	// it is away.
	RedisFailures uint64
	// Gaps is how often messages of other replicas may have been lost, so that
	// entries in memory were looked at again before use.
	Gaps uint64
	// Leased are the leases taken, Unleased those gone without.
	Leased, Unleased uint64
	// Waiting are the writes and erasures that Redis has yet to be told, Lost
	// the writes that were given up because there were too many.
	Waiting int
	Lost    uint64
	// Refused are values under our keys that are no entries of ours, by why.
	Refused map[Refusal]uint64
	// MemoryDropped and MemoryRejected are entries that memory did not take:
	// because they came too fast, or because others are asked for more often.
	MemoryDropped, MemoryRejected uint64
	// MemoryBytes is what memory is taken to hold.
	MemoryBytes int64
}

// Refusal is why a value under one of our keys was not taken for an entry.
type Refusal string

// The refusals.
const (
	RefusedForeign  Refusal = "foreign"  // not written by this program, or for another subject
	RefusedSchema   Refusal = "schema"   // written by a program of another age
	RefusedDamaged  Refusal = "damaged"  // changed since
	RefusedOversize Refusal = "oversize" // larger than any entry
	RefusedFuture   Refusal = "future"   // written at a time that has not come
)

// refusals gives each error of reading an entry its place and name.
var refusals = []struct {
	err     error
	refusal Refusal
}{
	{errForeign, RefusedForeign},
	{errSchema, RefusedSchema},
	{errDamaged, RefusedDamaged},
	{errOversize, RefusedOversize},
	{errFuture, RefusedFuture},
}

// counters are the live form of Stats.
type counters struct {
	memoryHits, redisHits, misses atomic.Uint64
	failed, gaps, lost            atomic.Uint64
	leased, unleased              atomic.Uint64
	refused                       [5]atomic.Uint64 // as in refusals
}

// recalled counts a recall by the tier that answered.
func (c *counters) recalled(by enrich.Tier) {
	switch by {
	case enrich.MemoryTier:
		c.memoryHits.Add(1)
	case enrich.RedisTier:
		c.redisHits.Add(1)
	default:
		c.misses.Add(1)
	}
}

// refuse counts a value that is no entry.
func (c *counters) refuse(err error) {
	for i, known := range refusals {
		if errors.Is(err, known.err) {
			c.refused[i].Add(1)
		}
	}
}

func (c *counters) snapshot() Stats {
	stats := Stats{
		MemoryHits:    c.memoryHits.Load(),
		RedisHits:     c.redisHits.Load(),
		Misses:        c.misses.Load(),
		RedisFailures: c.failed.Load(),
		Gaps:          c.gaps.Load(),
		Leased:        c.leased.Load(),
		Unleased:      c.unleased.Load(),
		Lost:          c.lost.Load(),
		Refused:       map[Refusal]uint64{},
	}
	for i, known := range refusals {
		stats.Refused[known.refusal] = c.refused[i].Load()
	}
	return stats
}
