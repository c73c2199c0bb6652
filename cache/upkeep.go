package cache

import "time"

const (
	// settleAfter is how long recent writes are collected.
	settleAfter = 50 * time.Millisecond
	// sweepEvery is how often expired entries are removed. They are invisible
	// from the moment they expire.
	sweepEvery = 10 * time.Minute
	// longestLoad is how long a load may take and still come in.
	longestLoad = time.Hour
)

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
		for t, x := range s.erased {
			if time.Since(x.at) > longestLoad {
				delete(s.erased, t)
			}
		}
		s.mu.Unlock()
	}
}
