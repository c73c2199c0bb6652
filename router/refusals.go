package router

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// refusals remembers for which subjects a provider called the input invalid, so
// that it is not sent again. It keeps hashes, no addresses, and at most so many;
// the oldest make room. Safe for concurrent use.
type refusals struct {
	keep time.Duration
	seed maphash.Seed

	mu    sync.Mutex
	until map[uint64]time.Time
	ring  []uint64 // in the order they came
	next  int      // place of the oldest once the ring is full
}

func newRefusals(keep time.Duration, most int) *refusals {
	return &refusals{keep: keep, seed: maphash.MakeSeed(), until: map[uint64]time.Time{}, ring: make([]uint64, 0, most)}
}

func (r *refusals) add(provider string, subject enrich.Subject) {
	if r.keep < 0 {
		return
	}
	hash := r.hash(provider, subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.until[hash]
	r.until[hash] = time.Now().Add(r.keep)
	switch {
	case known:
	case len(r.ring) < cap(r.ring):
		r.ring = append(r.ring, hash)
	default:
		delete(r.until, r.ring[r.next])
		r.ring[r.next] = hash
		r.next = (r.next + 1) % len(r.ring)
	}
}

func (r *refusals) has(provider string, subject enrich.Subject, now time.Time) bool {
	r.mu.Lock()
	empty := len(r.until) == 0
	r.mu.Unlock()
	if empty {
		return false
	}
	hash := r.hash(provider, subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	return now.Before(r.until[hash])
}

func (r *refusals) hash(provider string, subject enrich.Subject) uint64 {
	var h maphash.Hash
	h.SetSeed(r.seed)
	h.WriteString(provider)
	h.WriteByte(0)
	h.WriteString(subject.Key().Reveal())
	return h.Sum64()
}
