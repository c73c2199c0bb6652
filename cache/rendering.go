package cache

import (
	"context"
	"sync"
	"sync/atomic"
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
	// erased are the words of subjects of which nothing may be told, and leaving
	// those of them that are being searched for. Pending is set while there are some.
	mu              sync.Mutex
	erased, leaving map[uint64]struct{}
	pending         atomic.Bool
	erase           chan struct{} // some were erased
	stop            chan struct{}
	ended           chan struct{}
}

var _ enrich.Renderings = (*Cache)(nil)

// kept is one rendering and what it was made from: the entries, nil for none, and
// the barriers that were up.
type kept struct {
	enrich.Rendering
	person, company *entry
	terms           *map[string]barrier
	question        enrich.Fingerprint
	about           [2]uint64 // words of those of whom it tells, 0 for nobody
	until           time.Time
}

func (k *kept) glance() enrich.Glance {
	glance := enrich.Glance{Terms: k.terms}
	if k.person != nil {
		glance.Person = k.person
	}
	if k.company != nil {
		glance.Company = k.company
	}
	return glance
}

const (
	// keptOverhead is what a rendering takes beside its bytes.
	keptOverhead = 384
	// auditOverhead is what the auditor is told about it.
	auditOverhead = 2 << 10
	// usualRendering is about what a usual rendering takes.
	usualRendering = 4 << 10
	// longestRendering bounds how long a rendering stays in the process, used or
	// not.
	longestRendering = 10 * time.Minute
	// erasePause lies between two searches for what tells of erased subjects.
	erasePause = 250 * time.Millisecond
	// erasePauses is how many times longer than a search its pause is at least: a
	// search looks at all renderings.
	erasePauses = 20
)

func newRenderings(bytes int64) (*renderings, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *kept]{
		NumCounters:        10 * max(bytes/usualRendering, 100),
		MaxCost:            bytes,
		BufferItems:        64,
		IgnoreInternalCost: true,
		// Two questions that share the word are told apart by their whole
		// fingerprints and glances.
		KeyToHash: func(word uint64) (uint64, uint64) { return word, 0 },
	})
	if err != nil {
		return nil, err
	}
	r := &renderings{
		cache: cache, erased: map[uint64]struct{}{},
		erase: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{}),
	}
	go r.eraseWhatTells()
	return r, nil
}

// cost is what the rendering takes of memory, the allocator's rounding included.
func (k *kept) cost() int64 {
	cost := int64(k.Size()*9/8 + keptOverhead)
	if k.Audit != nil {
		cost += auditOverhead
	}
	return cost
}

// bytes is what the renderings take.
func (r *renderings) bytes() int64 { return r.cache.MaxCost() - r.cache.RemainingCost() }

// drop drops the renderings that tell of a subject. They are told no more when it
// returns, and soon gone.
func (r *renderings) drop(t tag) {
	if r == nil {
		return
	}
	r.mu.Lock()
	r.erased[word(t)] = struct{}{}
	r.pending.Store(true)
	r.mu.Unlock()
	select {
	case r.erase <- struct{}{}:
	default:
	}
}

// tellsOfErased tells whether the rendering is to be dropped.
func (r *renderings) tellsOfErased(k *kept) bool {
	if !r.pending.Load() {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return k.tellsOf(r.erased) || k.tellsOf(r.leaving)
}

func (k *kept) tellsOf(subjects map[uint64]struct{}) bool {
	_, person := subjects[k.about[0]]
	_, company := subjects[k.about[1]]
	return person || company
}

// eraseWhatTells drops what tells of erased subjects, of all that were erased
// lately at once, until the renderings are closed.
func (r *renderings) eraseWhatTells() {
	defer close(r.ended)
	for {
		select {
		case <-r.stop:
			return
		case <-r.erase:
		}
		began := time.Now()
		r.mu.Lock()
		r.erased, r.leaving = map[uint64]struct{}{}, r.erased
		leaving := r.leaving
		r.mu.Unlock()
		r.cache.Wait() // what was about to be kept is found too
		var telling []uint64
		r.each(func(k *kept) (stop bool) {
			if k.tellsOf(leaving) {
				telling = append(telling, k.question[0])
			}
			return false
		})
		for _, question := range telling {
			r.cache.Del(question)
		}
		r.mu.Lock()
		r.leaving = nil
		r.pending.Store(len(r.erased) > 0)
		r.mu.Unlock()
		select {
		case <-r.stop:
			return
		case <-time.After(max(erasePause, erasePauses*time.Since(began))):
		}
	}
}

// each looks at the renderings until look says to stop.
func (r *renderings) each(look func(*kept) (stop bool)) {
	if r != nil {
		r.cache.IterValues(look)
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
		close(r.stop)
		<-r.ended
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
	if !ok || found.question != question || !time.Now().Before(found.until) || c.renderings.tellsOfErased(found) {
		return enrich.Rendering{}, enrich.Glance{}, false
	}
	return found.Rendering, found.glance(), true
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
func (c *Cache) KeepRendering(ctx context.Context, glance enrich.Glance, question enrich.Fingerprint, rendering enrich.Rendering, about enrich.About, until time.Time) {
	life := min(time.Until(until), longestRendering)
	if c.renderings == nil || life <= 0 || !c.has(ctx, glance) {
		return
	}
	k := &kept{Rendering: rendering, question: question, until: until}
	k.person, _ = glance.Person.(*entry)
	k.company, _ = glance.Company.(*entry)
	k.terms, _ = glance.Terms.(*map[string]barrier)
	for i, key := range about {
		if !key.IsZero() {
			k.about[i] = word(c.tagger.tag(key))
		}
	}
	c.renderings.cache.SetWithTTL(question[0], k, k.cost(), life)
	if k.person != nil {
		c.decoded.drop(k.person.tag) // it is seldom needed from now on
	}
	if !c.has(ctx, glance) || c.renderings.tellsOfErased(k) { // erased meanwhile
		c.renderings.cache.Del(question[0])
	}
}
