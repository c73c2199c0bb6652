package cache

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/enrichd/enrichd/enrich"
)

// renderings keep answers as they were sent. One is used only while memory has
// the very entries from which it was made, so nothing has to be dropped when an
// entry changes or expires. When a subject is erased, they are dropped: they
// tell of it.
type renderings struct {
	cache *ristretto.Cache[uint64, *kept]
	mu    sync.Mutex
	about map[tag]map[*kept]struct{} // those in cache, by subject
}

var _ enrich.Renderings = (*Cache)(nil)

// kept is one rendering and what it was made from.
type kept struct {
	enrich.Rendering
	of       enrich.Glance
	question enrich.Fingerprint
	about    []tag // of whom it tells
	until    time.Time
}

// keptOverhead is what a rendering takes beside its bytes: the bookkeeping, what
// the auditor is told, and entries that memory may have evicted.
const keptOverhead = 2 << 10

// usualRendering is about what a usual rendering takes.
const usualRendering = 4 << 10

// longestRendering bounds how long a rendering stays in the process, used or
// not.
const longestRendering = 10 * time.Minute

func newRenderings(bytes int64) (*renderings, error) {
	r := &renderings{about: map[tag]map[*kept]struct{}{}}
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *kept]{
		NumCounters:        10 * max(bytes/usualRendering, 100),
		MaxCost:            bytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
		// Two questions that share the word are told apart by their whole
		// fingerprints and glances.
		KeyToHash: func(word uint64) (uint64, uint64) { return word, 0 },
		OnExit:    r.left,
	})
	if err != nil {
		return nil, err
	}
	r.cache = cache
	return r, nil
}

// keep replaces what is kept of the same question.
func (r *renderings) keep(k *kept, life time.Duration) {
	r.mu.Lock()
	for _, t := range k.about {
		if r.about[t] == nil {
			r.about[t] = map[*kept]struct{}{}
		}
		r.about[t][k] = struct{}{}
	}
	r.mu.Unlock()
	r.cache.Del(k.question[0])
	cost := int64(len(k.Sent)) + keptOverhead
	if !r.cache.SetWithTTL(k.question[0], k, cost, life) {
		r.left(k)
	}
}

// left notes that a rendering is kept no more; nil is none.
func (r *renderings) left(k *kept) {
	if k == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range k.about {
		if delete(r.about[t], k); len(r.about[t]) == 0 {
			delete(r.about, t)
		}
	}
}

// drop drops the renderings that tell of a subject.
func (r *renderings) drop(t tag) {
	if r == nil {
		return
	}
	r.mu.Lock()
	all := slices.Collect(maps.Keys(r.about[t]))
	r.mu.Unlock()
	for _, k := range all {
		r.cache.Del(k.question[0])
	}
}

// witness has what follows the news drop what was made of what was erased.
type witness struct {
	*memory
	drop func(tag)
}

var _ follower = witness{}

func (w witness) erased(t tag, x erasure) {
	w.memory.erased(t, x)
	w.drop(t)
}

func (r *renderings) close() {
	if r != nil {
		r.cache.Close()
	}
}

// KeepsRenderings tells whether there is memory to keep any in.
func (c *Cache) KeepsRenderings() bool { return c.renderings != nil }

// Terms are the barriers that are up.
func (c *Cache) Terms() any { return c.barriers.until.Load() }

// Rendering returns what was kept of the answer to a question, and the glance at
// which it was made.
func (c *Cache) Rendering(question enrich.Fingerprint) (enrich.Rendering, enrich.Glance, bool) {
	if c.renderings == nil {
		return enrich.Rendering{}, enrich.Glance{}, false
	}
	found, ok := c.renderings.cache.Get(question[0])
	if !ok || found.question != question || !time.Now().Before(found.until) {
		return enrich.Rendering{}, enrich.Glance{}, false
	}
	return found.Rendering, found.of, true
}

// Holds tells whether memory has the very entries of a glance, and need not ask
// Redis. It counts as a recall of the subjects from memory.
func (c *Cache) Holds(ctx context.Context, glance enrich.Glance) bool {
	if !c.has(ctx, glance) {
		return false
	}
	for _, seen := range [...]any{glance.Person, glance.Company} {
		if seen != nil {
			c.stats.recalled(enrich.MemoryTier)
		}
	}
	return true
}

func (c *Cache) has(ctx context.Context, glance enrich.Glance) bool {
	if glance.Terms != c.Terms() {
		return false
	}
	for _, seen := range [...]any{glance.Person, glance.Company} {
		if seen == nil {
			continue
		}
		of := seen.(*entry)
		if e, current := c.near(ctx, of.tag); e != of || !current {
			return false
		}
	}
	return true
}

// KeepRendering keeps it until the given time at most, if memory still has the
// entries of the glance.
func (c *Cache) KeepRendering(ctx context.Context, glance enrich.Glance, question enrich.Fingerprint, rendering enrich.Rendering, until time.Time) {
	life := min(time.Until(until), longestRendering)
	if c.renderings == nil || life <= 0 || !c.has(ctx, glance) {
		return
	}
	k := &kept{Rendering: rendering, of: glance, question: question, until: until}
	for _, key := range rendering.About {
		k.about = append(k.about, c.tagger.tag(key))
	}
	c.renderings.keep(k, life)
}
