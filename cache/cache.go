// Package cache recalls what is known about a subject, so that no fact is paid
// for twice. It keeps records in two tiers, the process's memory and a Redis
// that all replicas share, and may forget: a tier that is slow, gone or damaged
// costs a vendor call, never a request.
//
//	Recall:   memory -> Redis (and into memory) -> nothing
//	Remember: Redis (joined with what is there) -> memory
//	Forget:   memory, Redis, and by a message the memory of other replicas
//	Lease:    one replica asks vendors, the others wait for what it brings
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
	"sync"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// Cache recalls records. It is safe for concurrent use.
type Cache struct {
	tagger *tagger
	jitter float64
	memory nearTier // none where memory is turned off
	shared tier     // none without Redis
	remote *remote
	// decoded saves decoding what memory is asked for often.
	decoded *decoded
	// renderings save even that; nil where memory is turned off.
	renderings *renderings
	// barriers hold for what all tiers recall.
	barriers *barriers
	stats    *counters
	log      *slog.Logger
	// cool ends the work in the background.
	cool    context.CancelFunc
	running sync.WaitGroup
	ended   sync.Once
}

var _ enrich.Recall = (*Cache)(nil)

// What is kept in memory, in parts of the configured bytes. The process and its
// garbage need the rest: of 128 MiB a full cache leaves 33 MiB between two
// collections. With .56 instead of .45 kept these were 13, and collecting them
// took 16 % of an import's time instead of 9. What an entry forgets costs a trip to
// Redis, or without one a vendor's call, so answers have less.
const (
	entryShare     = 0.30
	renderingShare = 0.12
	decodedShare   = 0.03
)

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
		tagger:   newTagger(config.pepper()),
		jitter:   max(config.Jitter, 0),
		memory:   none{},
		shared:   none{},
		barriers: &barriers{},
		stats:    &counters{},
		log:      log,
	}
	c.decoded = newDecoded(part(config.MemoryBytes, decodedShare), c.barriers)
	var news *news
	var err error
	if config.Redis.Enabled() {
		if c.remote, err = newRemote(config.Redis, patience, c.barriers, c.stats, log); err != nil {
			return nil, fmt.Errorf("cache: %w", err)
		}
		c.shared, news = c.remote, c.remote.news
	}
	var follower follower = none{}
	if config.MemoryBytes > 0 {
		memory, err := newMemory(part(config.MemoryBytes, entryShare), news)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("cache: memory: %w", err), c.shared.close())
		}
		if c.renderings, err = newRenderings(part(config.MemoryBytes, renderingShare)); err != nil {
			return nil, errors.Join(fmt.Errorf("cache: memory: %w", err), c.shared.close(), memory.close())
		}
		c.memory, follower = memory, witness{memory, c.drop}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cool = cancel
	if c.remote != nil {
		c.remote.start(follower)
		c.running.Go(func() { c.keepWarm(ctx) })
	}
	return c, nil
}

func part(bytes int64, share float64) int64 { return int64(float64(bytes) * share) }

// admit lets memory keep what Redis knows, and returns what memory leaves of
// it.
func (c *Cache) admit(ctx context.Context, e *entry) *entry {
	if e == nil {
		return nil
	}
	return c.memory.remember(ctx, e)
}

// read returns what an entry says, an empty record for nil.
func (c *Cache) read(e *entry) enrich.Record {
	if e == nil {
		return enrich.Record{}
	}
	record, err := c.decoded.record(e)
	if err != nil {
		c.stats.refuse(errDamaged)
		return enrich.Record{}
	}
	return record
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
	if e = c.memory.peek(t).join(e); len(e.payload) > maxPayload {
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

// Forget erases a subject in every tier and replica. What vendors were asked
// about it before is not remembered any more. The error says that Redis, and so
// the other replicas, will hear of it later.
func (c *Cache) Forget(ctx context.Context, key email.Key) error {
	if key.IsZero() {
		return nil
	}
	t := c.tagger.tag(key)
	err := c.memory.forget(ctx, t)
	c.drop(t)
	return errors.Join(err, c.shared.forget(ctx, t))
}

// drop leaves nothing in the process of what was made of a subject's entry.
func (c *Cache) drop(t tag) {
	c.decoded.drop(t)
	c.renderings.drop(t)
}

// ForgetProvider drops all that a provider has said until now, about any
// subject, in every tier and replica. The error says that the other replicas
// could not be told: call it again.
func (c *Cache) ForgetProvider(ctx context.Context, provider string) error {
	c.barriers.raise(provider, barrier{at: time.Now()})
	if c.remote == nil {
		return nil
	}
	return c.remote.bar(ctx, provider)
}

// Passes tells whether a fact may still be told: its provider has said it after
// what was dropped by ForgetProvider. It is for facts that are kept elsewhere.
func (c *Cache) Passes(fact enrich.Fact) bool { return c.barriers.passes(fact) }

// Lease makes this replica the one to ask vendors about a subject, so that
// several do not pay for the same. It returns when it is, or when what is known
// is enough, because another replica or caller has brought it; in either case
// with all that is known by then. Release ends the lease unless Remember has
// done so; it is never nil and must be called.
//
// It never fails: without Redis the caller asks vendors all the same. After half
// of ctx's time one of those who wait is let pass the holder; the others wait on.
func (c *Cache) Lease(ctx context.Context, key email.Key, enough func(enrich.Record) bool) (known enrich.Record, release func()) {
	release = func() {}
	if key.IsZero() {
		return enrich.Record{}, release
	}
	t := c.tagger.tag(key)
	before := c.memory.peek(t)
	if known = c.read(before); c.remote == nil || before != nil && enough(known) {
		return known, release
	}
	after, release := c.remote.lease(ctx, t, before, func(e *entry) bool { return enough(c.read(e)) })
	if after != before {
		known = c.read(c.admit(ctx, after))
	}
	return known, release
}

// Hold keeps this replica's lease on a subject, if it has one, until the channel
// is closed or the cache is. A lookup of this replica that asks for it meanwhile
// shares it.
func (c *Cache) Hold(key email.Key, until <-chan struct{}) {
	if c.remote != nil && !key.IsZero() {
		c.remote.hold(c.tagger.tag(key), until)
	}
}

// Stats returns what the cache did so far.
func (c *Cache) Stats() Stats {
	stats := c.stats.snapshot()
	if memory, ok := c.memory.(*memory); ok {
		memory.measure(&stats)
		stats.MemoryBytes += c.renderings.bytes()
	}
	if c.remote != nil {
		stats.Waiting = c.remote.recovery.size()
	}
	return stats
}

// Close ends the cache. Call it after the last request has ended; from then on
// it recalls nothing.
func (c *Cache) Close() (err error) {
	c.ended.Do(func() {
		c.cool()
		c.running.Wait()
		if c.remote != nil {
			c.remote.saveHottest(context.Background(), c.lately())
		}
		err = errors.Join(c.shared.close(), c.memory.close())
		c.renderings.close()
	})
	return err
}
