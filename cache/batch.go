package cache

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// batchSize is how many subjects Redis is asked about at once.
const batchSize = 100

// RecallAll recalls many subjects, in the order of the keys. What memory lacks,
// or has not heard of for too long, is asked of Redis together: one round trip
// for each hundred subjects and server.
func (c *Cache) RecallAll(ctx context.Context, keys []email.Key) []enrich.Recalled {
	recalled := make([]enrich.Recalled, len(keys))
	var asked []asked
	for i, key := range keys {
		if key.IsZero() {
			continue
		}
		t := c.tagger.tag(key)
		near, current := c.near(ctx, t)
		if current {
			recalled[i] = c.recalled(near, c.memory.name())
			continue
		}
		asked = append(asked, askedOf(i, t, near))
	}
	c.recallShared(ctx, asked)
	for _, a := range asked {
		by := c.shared.name()
		if a.near != nil {
			by = c.memory.name()
		}
		recalled[a.place] = c.recalled(a.found, by)
	}
	return recalled
}

// recalled counts a recall and returns what the entry says, nothing for nil.
func (c *Cache) recalled(e *entry, by enrich.Tier) (known enrich.Recalled) {
	if known.Record = c.read(e); !known.Record.IsEmpty() {
		known.Tier = by
	}
	if known.Tier == enrich.MemoryTier {
		known.Seen = e
	}
	c.stats.recalled(known.Tier)
	return known
}

// near returns what memory keeps about a subject, and whether that may be used
// without asking Redis.
func (c *Cache) near(ctx context.Context, t tag) (e *entry, current bool) {
	e = c.memory.recall(ctx, t)
	return e, e != nil && (c.remote == nil || c.remote.current(e))
}

// asked is a subject that Redis is asked about.
type asked struct {
	place int // among the keys
	tag   tag
	near  *entry // what memory has, nil for nothing
	found *entry // what both have
}

func askedOf(place int, t tag, near *entry) asked {
	return asked{place: place, tag: t, near: near, found: near}
}

// recallShared asks Redis, and lets memory keep what it knows. What memory has
// and Redis has not as it is there is checked one by one: it may have been
// erased, or lost and must be given back.
func (c *Cache) recallShared(ctx context.Context, asked []asked) {
	if c.remote == nil {
		return
	}
	for start := 0; start < len(asked); start += batchSize {
		part := asked[start:min(start+batchSize, len(asked))]
		found, err := c.remote.recallBatch(ctx, part)
		if err != nil {
			c.remote.failed(err)
		}
		for i := range part {
			a, got := &part[i], found[i]
			switch {
			case got == nil && err != nil: // a server did not answer
				continue
			case a.near != nil && (got == nil || got.version != a.near.version):
				got = c.remote.check(ctx, a.near)
			}
			a.found = c.admit(ctx, got)
		}
	}
}

// recallBatch recalls several subjects at once, nil for what is not stored or
// could not be read.
func (r *remote) recallBatch(ctx context.Context, asked []asked) ([]*entry, error) {
	found := make([]*entry, len(asked))
	asOf := make([]moment, len(asked))
	commands := make([]redis.Cmder, len(asked))
	for i, a := range asked {
		asOf[i] = r.news.now(a.tag)
		commands[i] = r.read(ctx, a.tag)
	}
	if err := r.reads.send(ctx, commands...); err != nil {
		return found, err
	}
	var failure error
	for i, command := range commands {
		sealed, err := command.(*redis.StringCmd).Bytes()
		if err != nil {
			failure = err
			continue
		}
		found[i] = r.unseal(sealed, asked[i].tag, asOf[i])
	}
	return found, failure
}
