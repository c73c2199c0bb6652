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
// writes of a new key and never counts the growth of an updated one. Three
// habits close that: a write of a subject holds its stripe's lock, every write
// is a deletion followed by an addition, and until ristretto has applied it the
// stripe itself shows it as recent.
type memory struct {
	cache   *ristretto.Cache[uint64, *item]
	stripes [256]stripe
	born    time.Time
	wrote   chan struct{} // a write awaits being settled
	stop    chan struct{}
	stopped chan struct{}
	ended   sync.Once
}

var _ tier = (*memory)(nil)

// item is an entry in memory. Expiry is measured on the process's own clock,
// which is cheaper to read than the time of day.
type item struct {
	entry
	expires time.Duration // since memory.born
}

// stripe holds what is special about the subjects whose tags begin alike.
type stripe struct {
	mu     sync.RWMutex
	closed bool
	// recent are the writes that ristretto may not have applied.
	recent map[tag]*item
	// erased tells when subjects were erased, for as long as a load from
	// before may still come in; erasures up to floor hold for all subjects.
	erased map[tag]time.Time
	floor  time.Time
}

const (
	// itemOverhead is what ristretto, the item and the allocator add to the
	// payload of an entry.
	itemOverhead = 320
	// typicalCost is the cost of a usual entry, from which the number of
	// entries is estimated.
	typicalCost = 1 << 10
	// maxRecent bounds the recent writes of one stripe.
	maxRecent = 32
	// settleAfter is how long recent writes are collected.
	settleAfter = 50 * time.Millisecond
	// sweepEvery is how often expired entries are removed. They are invisible
	// from the moment they expire.
	sweepEvery = 10 * time.Minute
	// longestLoad is how long a load may take and still come in.
	longestLoad = time.Hour
	// maxErased bounds the remembered erasures of one stripe.
	maxErased = 256
)

// newMemory makes a memory tier that keeps at most the given number of bytes.
func newMemory(bytes int64) (*memory, error) {
	cache, err := ristretto.NewCache(&ristretto.Config[uint64, *item]{
		NumCounters:        10 * max(bytes/typicalCost, 100),
		MaxCost:            bytes,
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
	if found == nil {
		return nil
	}
	return &found.entry
}

func (m *memory) remember(_ context.Context, e *entry) *entry {
	s := m.stripe(e.tag)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return e
	}
	if erased := s.erasedAt(e.tag); !erased.IsZero() {
		if e = e.since(erased); e == nil {
			return nil
		}
	}
	if known := m.lookup(s, e.tag); known != nil {
		if e = known.entry.join(e); e == &known.entry {
			return e
		}
	}
	kept := &item{entry: *e, expires: time.Since(m.born) + time.Until(e.until)}
	if len(s.recent) >= maxRecent {
		m.cache.Wait()
		clear(s.recent)
	}
	if s.recent == nil {
		s.recent = map[tag]*item{}
	}
	s.recent[e.tag] = kept
	m.cache.Del(word(e.tag))
	m.cache.Set(word(e.tag), kept, kept.cost())
	select {
	case m.wrote <- struct{}{}:
	default:
	}
	return &kept.entry
}

func (m *memory) forget(_ context.Context, t tag) error {
	s := m.stripe(t)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.erase(t, time.Now())
	m.drop(s, t)
	return nil
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

// lookup returns the subject's item unless it has expired. The caller holds the
// stripe's lock.
func (m *memory) lookup(s *stripe, t tag) *item {
	if s.closed {
		return nil
	}
	found := s.recent[t]
	if found == nil {
		found, _ = m.cache.Get(word(t))
	}
	if found == nil || found.tag != t || found.expires <= time.Since(m.born) {
		return nil
	}
	return found
}

// drop removes an item. The caller holds the stripe's lock.
func (m *memory) drop(s *stripe, t tag) {
	delete(s.recent, t)
	m.cache.Del(word(t))
}

// cost is what an item takes of memory, the allocator's rounding included.
func (i *item) cost() int64 { return int64(len(i.payload)*9/8 + itemOverhead) }

func (s *stripe) erase(t tag, at time.Time) {
	if len(s.erased) >= maxErased {
		for _, earlier := range s.erased {
			if earlier.After(s.floor) {
				s.floor = earlier
			}
		}
		clear(s.erased)
	}
	if s.erased == nil {
		s.erased = map[tag]time.Time{}
	}
	s.erased[t] = at
}

// erasedAt is when the subject was erased, zero if it was not.
func (s *stripe) erasedAt(t tag) time.Time {
	if at := s.erased[t]; at.After(s.floor) {
		return at
	}
	return s.floor
}

// housekeep settles recent writes, removes what has expired and forgets old
// erasures, until the tier is closed.
func (m *memory) housekeep() {
	defer close(m.stopped)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case <-m.stop:
			return
		case <-sweep.C:
			m.sweep()
		case <-m.wrote:
			select {
			case <-m.stop:
				return
			case <-time.After(settleAfter):
				m.settle()
			}
		}
	}
}

// settle stops showing the writes that ristretto has applied.
func (m *memory) settle() {
	var applied []*item
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.RLock()
		for _, recent := range s.recent {
			applied = append(applied, recent)
		}
		s.mu.RUnlock()
	}
	m.cache.Wait()
	for _, written := range applied {
		s := m.stripe(written.tag)
		s.mu.Lock()
		if s.recent[written.tag] == written {
			delete(s.recent, written.tag)
		}
		s.mu.Unlock()
	}
}

func (m *memory) sweep() {
	now := time.Since(m.born)
	var expired []tag
	m.cache.IterValues(func(i *item) bool {
		if i.expires <= now {
			expired = append(expired, i.tag)
		}
		return false
	})
	for _, t := range expired {
		s := m.stripe(t)
		s.mu.Lock()
		if m.lookup(s, t) == nil {
			m.drop(s, t)
		}
		s.mu.Unlock()
	}
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.Lock()
		for t, at := range s.erased {
			if time.Since(at) > longestLoad {
				delete(s.erased, t)
			}
		}
		s.mu.Unlock()
	}
}

// measure adds what ristretto knows about itself.
func (m *memory) measure(stats *Stats) {
	stats.MemoryDropped = m.cache.Metrics.SetsDropped()
	stats.MemoryRejected = m.cache.Metrics.SetsRejected()
	stats.MemoryBytes = m.cache.MaxCost() - m.cache.RemainingCost()
}
