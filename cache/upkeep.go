package cache

import (
	"maps"
	"time"
)

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

// settle has the stripes stop answering for what ristretto has applied.
func (m *memory) settle() {
	applied := make([]map[tag]item, len(m.stripes))
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.RLock()
		applied[i] = maps.Clone(s.recent)
		s.mu.RUnlock()
	}
	m.cache.Wait()
	if m.restore(applied) {
		m.cache.Wait()
	}
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.Lock()
		for t, written := range applied[i] {
			if s.recent[t] == written {
				delete(s.recent, t)
			}
		}
		s.mu.Unlock()
	}
}

// restore writes again what ristretto has lost, once, and tells whether there was
// any: a deletion that it applies late takes the addition with it that updated an
// older value in between.
func (m *memory) restore(applied []map[tag]item) (again bool) {
	for i := range m.stripes {
		s := &m.stripes[i]
		s.mu.Lock()
		for t, written := range applied[i] {
			if written.entry == nil || s.recent[t] != written {
				continue
			}
			if kept, ok := m.cache.Get(word(t)); !ok || kept != written {
				m.cache.Set(word(t), written, written.cost())
				again = true
			}
		}
		s.mu.Unlock()
	}
	return again
}

func (m *memory) sweep() {
	now := time.Since(m.born)
	var expired []tag
	m.cache.IterValues(func(i item) bool {
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
