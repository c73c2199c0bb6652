package cache

import (
	"context"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// batchSize is how many subjects Redis is asked about at once.
const batchSize = 100

// Recalled is what is remembered about one subject, and the tier that knew it.
type Recalled struct {
	Record enrich.Record
	Tier   enrich.Tier
}

// RecallAll recalls many subjects as Recall does, in the order of the keys.
// What memory lacks is asked of Redis together: one round trip for each hundred
// subjects and server.
func (c *Cache) RecallAll(ctx context.Context, keys []email.Key) []Recalled {
	recalled := make([]Recalled, len(keys))
	var missing []int
	var tags []tag
	for i, key := range keys {
		if key.IsZero() {
			continue
		}
		t := c.tagger.tag(key)
		if c.memory.recall(ctx, t) == nil {
			missing, tags = append(missing, i), append(tags, t)
			continue
		}
		recalled[i].Record, recalled[i].Tier = c.recall(ctx, t)
		c.stats.recalled(recalled[i].Tier)
	}
	for at, found := range c.recallShared(ctx, tags) {
		if record := c.read(found); !record.IsEmpty() {
			recalled[missing[at]] = Recalled{Record: record, Tier: c.shared.name()}
		}
		c.stats.recalled(recalled[missing[at]].Tier)
	}
	return recalled
}

// recallShared recalls from Redis into memory, nil for what is in neither.
func (c *Cache) recallShared(ctx context.Context, tags []tag) []*entry {
	found := make([]*entry, len(tags))
	if c.remote == nil {
		return found
	}
	for start := 0; start < len(tags); start += batchSize {
		end := min(start+batchSize, len(tags))
		copy(found[start:end], c.remote.recallBatch(ctx, tags[start:end]))
	}
	for i, e := range found {
		found[i] = c.admit(ctx, e)
	}
	return found
}

// recallBatch recalls several subjects at once, nil for what is not stored.
func (r *remote) recallBatch(ctx context.Context, tags []tag) []*entry {
	ctx, cancel := context.WithTimeout(ctx, r.patience.recall)
	defer cancel()
	found := make([]*entry, len(tags))
	asOf := make([]moment, len(tags))
	replies := make([]*redis.StringCmd, len(tags))
	_, err := r.reads.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for i, t := range tags {
			asOf[i] = r.news.now(t)
			replies[i] = pipe.GetRange(ctx, r.keys.entry(t), 0, int64(maxSealed))
		}
		return nil
	})
	if err != nil {
		r.failed(err)
	}
	for i, reply := range replies {
		sealed, err := reply.Bytes()
		if err == nil && len(sealed) > 0 && !r.recovery.erasing(tags[i]) {
			found[i] = r.unseal(sealed, tags[i], asOf[i])
		}
	}
	return found
}
