package cache

import "time"

const (
	// sweepEvery is how often expired entries are removed. They are invisible
	// from the moment they expire.
	sweepEvery = 10 * time.Minute
	// longestLoad is how long a load may take and still come in.
	longestLoad = time.Hour
)

// housekeep takes out what has parted or expired and forgets old erasures, until
// the tier is closed.
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
		case <-m.parting:
			m.takeOut()
		}
	}
}

// takeOut removes the entries that ristretto keeps no more, and gives it again
// those in whose place it kept what they replaced.
func (m *memory) takeOut() {
	m.parted.taking.Lock()
	defer m.parted.taking.Unlock()
	m.parted.Lock()
	entries := m.parted.entries
	m.parted.entries = nil
	m.parted.Unlock()
	for _, e := range entries {
		s := m.stripe(e.tag)
		s.mu.Lock()
		if s.items[e.tag].entry == e {
			kept, ok := m.cache.Get(word(e.tag))
			replaced := ok && kept.tag == e.tag
			if !replaced || kept != e && !m.cache.Set(word(e.tag), e, e.cost()) {
				delete(s.items, e.tag)
			}
		}
		s.mu.Unlock()
	}
}

func (m *memory) sweep() {
	now := time.Since(m.born)
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.Lock()
		for t, kept := range s.items {
			if kept.expires <= now {
				m.drop(s, t)
			}
		}
		for t, x := range s.erased {
			if time.Since(x.at) > longestLoad {
				delete(s.erased, t)
			}
		}
		s.mu.Unlock()
	}
}
