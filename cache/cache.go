// Package cache recalls what is known about a subject, so that no fact is paid
// for twice. It keeps records in two tiers, the process's memory and a Redis
// that all replicas share, and may forget: a tier that is slow, gone or damaged
// costs a vendor call, never a request.
//
//	Recall:   memory -> Redis (and into memory) -> nothing
//	Remember: Redis (joined with what is there) -> memory
//	Forget:   memory, Redis
//
// What a fact is worth by its age is not decided here: a record is kept for as
// long as it is said to be of use, and whoever recalls it looks at its facts.
package cache

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Cache recalls records. It is safe for concurrent use.
type Cache struct {
	tagger *tagger
	jitter float64
	memory tier // none where memory is turned off
	shared tier // none without Redis
	// decoded saves decoding what memory is asked for often.
	decoded *decoded
	stats   *counters
	log     *slog.Logger
}

var _ enrich.Recall = (*Cache)(nil)

// decodedShare is the part of memory that holds decoded records, one in so
// many.
const decodedShare = 8

// New makes a cache. A Redis that is away is no error: its records are used
// from when it is back. Whoever made the cache closes it.
func New(config Config, log *slog.Logger) (*Cache, error) {
	return newCache(config, usualPatience, log)
}

func newCache(config Config, patience patience, log *slog.Logger) (*Cache, error) {
	if problems := config.Validate(); len(problems) > 0 {
		return nil, fmt.Errorf("cache: %w", errors.Join(problems...))
	}
	config = config.WithDefaults()
	c := &Cache{
		tagger:  newTagger(config.pepper()),
		jitter:  max(config.Jitter, 0),
		memory:  none{},
		shared:  none{},
		decoded: newDecoded(config.MemoryBytes / decodedShare),
		stats:   &counters{},
		log:     log,
	}
	var err error
	if len(config.Redis.Addresses) > 0 {
		if c.shared, err = newRemote(config.Redis, patience, c.stats, log); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
	}
	if config.MemoryBytes > 0 {
		if c.memory, err = newMemory(config.MemoryBytes - config.MemoryBytes/decodedShare); err != nil {
			return nil, errors.Join(fmt.Errorf("cache: memory: %w", err), c.shared.close())
		}
	}
	return c, nil
}

// Recall returns what is remembered about a subject and the tier that knew it,
// or an empty record.
func (c *Cache) Recall(ctx context.Context, key email.Key) (enrich.Record, enrich.Tier) {
	if key.IsZero() {
		return enrich.Record{}, enrich.NoTier
	}
	record, by := c.recall(ctx, c.tagger.tag(key))
	c.stats.recalled(by)
	return record, by
}

func (c *Cache) recall(ctx context.Context, t tag) (enrich.Record, enrich.Tier) {
	if known := c.memory.recall(ctx, t); known != nil {
		if record, err := c.decoded.record(known); err == nil {
			return record, c.memory.name()
		}
	}
	known := c.shared.recall(ctx, t)
	if known == nil {
		return enrich.Record{}, enrich.NoTier
	}
	record, err := known.record()
	if err != nil {
		c.stats.refuse(errDamaged)
		return enrich.Record{}, enrich.NoTier
	}
	switch kept := c.memory.remember(ctx, known); {
	case kept == nil: // erased here, and Redis has yet to hear of it
		return enrich.Record{}, enrich.NoTier
	case kept.payload != known.payload:
		if joined, err := kept.record(); err == nil {
			record = joined
		}
	}
	return record, c.shared.name()
}

// Remember joins the record with what is remembered, and keeps it until the
// given time or, by the configured jitter, a little shorter. It returns when
// Redis has it, or after a quarter of a second.
func (c *Cache) Remember(ctx context.Context, key email.Key, record enrich.Record, until time.Time) {
	if key.IsZero() || record.IsEmpty() {
		return
	}
	t := c.tagger.tag(key)
	until = c.early(t, until)
	if !until.After(time.Now()) {
		return
	}
	e, err := newEntry(t, record, until)
	if err != nil {
		c.log.Error("a record cannot be encoded", "error", err)
		return
	}
	if e = c.memory.recall(ctx, t).join(e); len(e.payload) > maxPayload {
		c.stats.refuse(errOversize)
		return
	}
	if e = c.shared.remember(ctx, e); e != nil {
		c.memory.remember(ctx, e)
	}
}

// early brings the end of an entry forward by the subject's share of the
// jitter.
func (c *Cache) early(t tag, until time.Time) time.Time {
	share := float64(binary.LittleEndian.Uint32(t[8:])) / math.MaxUint32
	return until.Add(-time.Duration(share * c.jitter * float64(time.Until(until))))
}

// Forget erases a subject in every tier. What vendors were asked about it
// before is not remembered any more. The error says that Redis could not be
// reached.
func (c *Cache) Forget(ctx context.Context, key email.Key) error {
	if key.IsZero() {
		return nil
	}
	t := c.tagger.tag(key)
	return errors.Join(c.memory.forget(ctx, t), c.shared.forget(ctx, t))
}

// Stats returns what the cache did so far.
func (c *Cache) Stats() Stats {
	stats := c.stats.snapshot()
	if memory, ok := c.memory.(*memory); ok {
		memory.measure(&stats)
	}
	return stats
}

// Close ends the cache. Call it after the last request has ended; from then on
// it recalls nothing.
func (c *Cache) Close() error { return errors.Join(c.memory.close(), c.shared.close()) }
