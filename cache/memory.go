package cache

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/ristretto/v2"

	"github.com/enrichd/enrichd/enrich"
)

// memory is the tier inside the process: maps that answer, and ristretto, which
// decides what stays in them.
//
// Ristretto itself does not answer, because it applies writes later and in
// between keeps the older of two quick writes or lets a deleted one appear
// again. It tells of every entry that it keeps no more, refused ones included,
// which then leaves the maps unless another has replaced it there.
type memory struct {
	news    *news
	cache   *ristretto.Cache[uint64, *entry]
	most    int64 // bytes of entries
	stripes [256]stripe
	born    time.Time
	// parted are the entries that ristretto keeps no more. They are taken out
	// of the maps by the housekeeper, because ristretto tells of them while a
	// writer that holds a stripe's lock may wait for it.
	parted struct {
		sync.Mutex
		entries []*entry
		taking  sync.Mutex // held while some are taken out
	}
	parting chan struct{} // some have parted
	stop    chan struct{}
	stopped chan struct{}
	ended   sync.Once
	dropped atomic.Uint64
	refused atomic.Uint64
}

var (
	_ nearTier = (*memory)(nil)
	_ follower = (*memory)(nil)
)

// item is an entry in memory; the zero item is none. Expiry is measured on the process's own clock,
// which is cheaper to read than the time of day.
type item struct {
	*entry
	expires time.Duration // since memory.born
}

const (
	// entryOverhead is what ristretto, the maps and the allocator add to the
	// payload of an entry.
	entryOverhead = 384
	// typicalCost is the cost of a usual entry, from which the number of
	// entries is estimated.
	typicalCost = 3 << 9
	// sketchShare is the part of the bytes that ristretto takes to remember how often
	// what was asked for, and for the room in its maps.
	sketchShare = 16
	// growthShare is the part of the bytes by which entries that grow may go beyond the
	// rest, and mostLeaving how many leave at once when they do: ristretto makes room
	// only for new ones.
	growthShare = 32
	mostLeaving = 4
	// toldHits is one in how many hits ristretto is told of, because telling it costs as much as
	// the rest of a hit. Fewer than all cost .2 to .9 points of 80 % hits of a Zipf workload.
	toldHits = 8
)

// newMemory makes a memory tier that keeps at most the given number of bytes
// and follows the news.
func newMemory(bytes int64, news *news) (*memory, error) {
	m := &memory{
		news:    news,
		most:    bytes - bytes/sketchShare,
		born:    time.Now(),
		parting: make(chan struct{}, 1),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	var err error
	m.cache, err = ristretto.NewCache(&ristretto.Config[uint64, *entry]{
		NumCounters:        10 * max(bytes/typicalCost, 100),
		MaxCost:            m.most,
		BufferItems:        64,
		IgnoreInternalCost: true,
		// Two subjects that share the word replace each other.
		KeyToHash: func(word uint64) (uint64, uint64) { return word, 0 },
		OnReject:  func(*ristretto.Item[*entry]) { m.refused.Add(1) },
		OnExit:    m.part,
	})
	if err != nil {
		return nil, err
	}
	for i := range m.stripes {
		m.stripes[i].items = map[tag]item{}
	}
	go m.housekeep()
	return m, nil
}

func (m *memory) name() enrich.Tier { return enrich.MemoryTier }

func (m *memory) recall(_ context.Context, t tag) *entry {
	s := m.stripe(t)
	s.mu.RLock()
	found := m.lookup(s, t)
	if !s.closed && (found == nil || rand.Uint32()%toldHits == 0) {
		m.cache.Get(word(t))
	}
	s.mu.RUnlock()
	return found
}

func (m *memory) peek(t tag) *entry {
	s := m.stripe(t)
	s.mu.RLock()
	defer s.mu.RUnlock()
	return m.lookup(s, t)
}

func (m *memory) remember(_ context.Context, e *entry) *entry {
	defer m.makeRoom()
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
	s.items[e.tag] = item{entry: e, expires: time.Since(m.born) + time.Until(e.until)}
	if !m.cache.Set(word(e.tag), e, e.cost()) {
		m.dropped.Add(1)
		delete(s.items, e.tag)
	}
}

// makeRoom has entries leave, whichever they are, while others that grew take too
// much.
func (m *memory) makeRoom() {
	for range mostLeaving {
		if -m.cache.RemainingCost() <= m.most/growthShare {
			return
		}
		m.dropAny(&m.stripes[rand.IntN(len(m.stripes))])
	}
}

// dropAny removes an entry of the stripe, if there is one.
func (m *memory) dropAny(s *stripe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for t := range s.items {
		m.drop(s, t)
		return
	}
}

// drop removes the subject's entry. The caller holds the stripe's lock.
func (m *memory) drop(s *stripe, t tag) {
	delete(s.items, t)
	m.cache.Del(word(t))
}

// part notes that ristretto keeps an entry no more; nil is none.
func (m *memory) part(e *entry) {
	if e == nil {
		return
	}
	m.parted.Lock()
	m.parted.entries = append(m.parted.entries, e)
	m.parted.Unlock()
	select {
	case m.parting <- struct{}{}:
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
		// Else ristretto may take what comes next for an update, and apply the deletion after that.
		m.cache.Wait()
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
			s.items = nil
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
	found := s.items[t]
	if found.entry == nil || found.expires <= time.Since(m.born) {
		return nil
	}
	return found.entry
}

// cost is what the entry takes of memory, the allocator's rounding included.
func (e *entry) cost() int64 { return int64(len(e.payload)*9/8 + entryOverhead) }

// measure adds what ristretto knows about itself.
func (m *memory) measure(stats *Stats) {
	stats.MemoryDropped = m.dropped.Load()
	stats.MemoryRejected = m.refused.Load()
	stats.MemoryBytes = m.cache.MaxCost() - m.cache.RemainingCost()
}
