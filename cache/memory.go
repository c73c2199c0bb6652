package cache

import (
	"context"
	"encoding/binary"
	"sync"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/enrichd/enrichd/enrich"
)

// memory is the tier inside the process.
//
// Ristretto applies writes later, may drop them, keeps the older of two quick
// writes of a new key, lets a deleted one appear again for a moment, and never
// counts the growth of an updated one. Three habits close that: a write of a
// subject holds its stripe's lock, every write is a deletion followed by an
// addition, and until ristretto has applied it the stripe answers itself.
type memory struct {
	news    *news
	cache   *ristretto.Cache[uint64, item]
	stripes [256]stripe
	born    time.Time
	wrote   chan struct{} // a write awaits being settled
	stop    chan struct{}
	stopped chan struct{}
	ended   sync.Once
}

var (
	_ tier     = (*memory)(nil)
	_ follower = (*memory)(nil)
)

// item is an entry in memory; the zero item is none. Expiry is measured on the process's own clock,
// which is cheaper to read than the time of day.
type item struct {
	*entry
	expires time.Duration // since memory.born
}

const (
	// itemOverhead is what ristretto, the item and the allocator add to the
	// payload of an entry.
	itemOverhead = 320
	// typicalCost is the cost of a usual entry, from which the number of
	// entries is estimated.
	typicalCost = 1 << 10
	// sketchShare is the part of the bytes that ristretto takes to remember how often
	// what was asked for, and for the room in its maps.
	sketchShare = 16
)

// newMemory makes a memory tier that keeps at most the given number of bytes
// and follows the news.
func newMemory(bytes int64, news *news) (*memory, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, item]{
		NumCounters:        10 * max(bytes/typicalCost, 100),
		MaxCost:            bytes - bytes/sketchShare,
		BufferItems:        64,
		IgnoreInternalCost: true,
		Metrics:            true,
		// Two subjects that share the word are told apart by their whole tags.
		KeyToHash: func(word uint64) (uint64, uint64) { return word, 0 },
	})
	if err != nil {
		return nil, err
	}
	m := &memory{
		news:    news,
		cache:   cache,
		born:    time.Now(),
		wrote:   make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	go m.housekeep()
	return m, nil
}

func (m *memory) name() enrich.Tier { return enrich.MemoryTier }

func (m *memory) recall(_ context.Context, t tag) *entry {
	s := m.stripe(t)
	s.mu.RLock()
	found := m.lookup(s, t)
	s.mu.RUnlock()
	return found
}

func (m *memory) remember(_ context.Context, e *entry) *entry {
	s := m.stripe(e.tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return e
	}
	known := m.lookup(s, e.tag)
	passed, keep := s.pass(e)
	switch {
	case passed == nil && known != nil:
		return known
	case !keep:
		return passed
	}
	e = known.join(passed)
	if m.news.overtook(e) {
		e = e.with(func(e *entry) { e.asOf = moment{} })
	}
	if e != known {
		m.put(s, e)
	}
	return e
}

// put replaces the subject's entry. The caller holds the stripe's lock.
func (m *memory) put(s *stripe, e *entry) {
	kept := item{entry: e, expires: time.Since(m.born) + time.Until(e.until)}
	m.show(s, e.tag, kept)
	m.cache.Del(word(e.tag))
	m.cache.Set(word(e.tag), kept, kept.cost())
}

// drop removes the subject's entry. The caller holds the stripe's lock.
func (m *memory) drop(s *stripe, t tag) {
	m.show(s, t, item{})
	m.cache.Del(word(t))
}

// show has the stripe answer for the subject until ristretto has applied what
// it is told next.
func (m *memory) show(s *stripe, t tag, recent item) {
	if len(s.recent) >= maxRecent {
		m.cache.Wait()
		clear(s.recent)
	}
	if s.recent == nil {
		s.recent = map[tag]item{}
	}
	s.recent[t] = recent
	select {
	case m.wrote <- struct{}{}:
	default:
	}
}

func (m *memory) check(ctx context.Context, e *entry) *entry { return m.remember(ctx, e) }

func (m *memory) forget(_ context.Context, t tag) error {
	m.erased(t, erasure{at: time.Now(), version: unknown})
	return nil
}

// erased notes an erasure and drops what it does not leave.
func (m *memory) erased(t tag, x erasure) {
	s := m.stripe(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.erase(t, x)
	known := m.lookup(s, t)
	if known == nil {
		return
	}
	switch left := x.apply(known); left {
	case known:
	case nil:
		m.drop(s, t)
	default:
		m.put(s, left)
	}
}

// written notes that Redis took a version of the subject's entry: what is kept
// here must be looked at again before use, unless it is as new.
func (m *memory) written(t tag, version uint64) {
	m.news.heard(t, version)
	s := m.stripe(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := m.lookup(s, t); known != nil && known.version < version && known.asOf != (moment{}) {
		m.put(s, known.with(func(e *entry) { e.asOf = moment{} }))
	}
}

// close waits for calls under way, so that none meets a closed ristretto.
func (m *memory) close() error {
	m.ended.Do(func() {
		for i := range m.stripes {
			s := &m.stripes[i]
			s.mu.Lock()
			s.closed = true
			s.recent = nil
			s.mu.Unlock()
		}
		close(m.stop)
		<-m.stopped
		m.cache.Close()
	})
	return nil
}

// word is the part of a tag by which ristretto knows an entry.
func word(t tag) uint64 { return binary.LittleEndian.Uint64(t[:]) }

func (m *memory) stripe(t tag) *stripe { return &m.stripes[t[len(t)-1]] }

// lookup returns the subject's entry unless it has expired. The caller holds the
// stripe's lock.
func (m *memory) lookup(s *stripe, t tag) *entry {
	if s.closed {
		return nil
	}
	found, ok := s.recent[t]
	if !ok {
		found, ok = m.cache.Get(word(t))
	}
	if !ok || found.entry == nil || found.tag != t || found.expires <= time.Since(m.born) {
		return nil
	}
	return found.entry
}

// cost is what an item takes of memory, the allocator's rounding included.
func (i item) cost() int64 { return int64(len(i.payload)*9/8 + itemOverhead) }

// measure adds what ristretto knows about itself.
func (m *memory) measure(stats *Stats) {
	stats.MemoryDropped = m.cache.Metrics.SetsDropped()
	stats.MemoryRejected = m.cache.Metrics.SetsRejected()
	stats.MemoryBytes = m.cache.MaxCost() - m.cache.RemainingCost()
}
