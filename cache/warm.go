package cache

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// saveEvery is how often the hottest subjects are noted for a restart.
	saveEvery = 5 * time.Minute
	// warmEvery is how often a batch of them is read back.
	warmEvery = 100 * time.Millisecond
	// maxHottest is how many are noted, of all replicas together.
	maxHottest = 8192
	// hottestStay is how long the note is of use.
	hottestStay = 7 * 24 * time.Hour
)

// keepWarm reads the hottest subjects back into memory, at a bounded rate, and
// notes from then on which they are, until ctx ends.
func (c *Cache) keepWarm(ctx context.Context) {
	c.warmUp(ctx)
	save := time.NewTicker(saveEvery)
	defer save.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-save.C:
			c.remote.saveHottest(ctx, c.lately())
		}
	}
}

// lately lists subjects that were asked for lately, maxHottest at most.
func (c *Cache) lately() []tag {
	tags := map[tag]struct{}{}
	for _, t := range c.decoded.tags() {
		tags[t] = struct{}{}
	}
	c.renderings.each(func(k *kept) (stop bool) {
		for _, e := range [...]*entry{k.person, k.company} {
			if e != nil {
				tags[e.tag] = struct{}{}
			}
		}
		return len(tags) >= maxHottest
	})
	all := slices.Collect(maps.Keys(tags))
	return all[:min(len(all), maxHottest)]
}

func (c *Cache) warmUp(ctx context.Context) {
	pace := time.NewTicker(warmEvery)
	defer pace.Stop()
	for _, batch := range c.remote.hottest(ctx) {
		select {
		case <-ctx.Done():
			return
		case <-pace.C:
			c.recallShared(ctx, batch)
		}
	}
}

// hottest returns the subjects that were asked for last before the restart, in
// batches, the latest first.
func (r *remote) hottest(ctx context.Context) (batches [][]asked) {
	ctx, cancel := context.WithTimeout(ctx, r.store)
	defer cancel()
	names, err := r.reads.ZRevRange(ctx, r.keys.hottest(), 0, maxHottest-1).Result()
	if err != nil {
		r.failed(err)
		return nil
	}
	for i, name := range names {
		if len(name) != len(tag{}) {
			continue
		}
		if i%batchSize == 0 || len(batches) == 0 {
			batches = append(batches, nil)
		}
		last := &batches[len(batches)-1]
		*last = append(*last, askedOf(0, tag([]byte(name)), nil))
	}
	return batches
}

// saveHottest notes the subjects that were asked for lately.
func (r *remote) saveHottest(ctx context.Context, tags []tag) {
	ctx, cancel := context.WithTimeout(ctx, r.store)
	defer cancel()
	if len(tags) == 0 || r.writing.away.Load() {
		return
	}
	members := make([]redis.Z, 0, len(tags))
	for _, t := range tags {
		members = append(members, redis.Z{Score: float64(time.Now().Unix()), Member: t[:]})
	}
	_, err := r.writes.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.ZAdd(ctx, r.keys.hottest(), members...)
		pipe.ZRemRangeByRank(ctx, r.keys.hottest(), 0, -maxHottest-1)
		pipe.Expire(ctx, r.keys.hottest(), hottestStay)
		return nil
	})
	if err != nil {
		r.failed(err)
	}
}
