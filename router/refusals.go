package router

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// refusals remembers for which subjects a provider called the input invalid, so
// that it is not sent again. It keeps hashes, no addresses, and at most so many;
// the oldest make room. Safe for concurrent use.
type refusals struct {
	seed maphash.Seed

	mu    sync.Mutex
	keep  time.Duration
	until map[uint64]time.Time
	ring  []uint64 // in the order they came
	next  int      // place of the oldest once the ring is full
}

// newRefusals remembers nothing before apply says for how long.
func newRefusals() *refusals {
	return &refusals{seed: maphash.MakeSeed(), until: map[uint64]time.Time{}}
}

// apply changes for how long refusals are kept from now on, and how many at
// most.
func (r *refusals) apply(keep time.Duration, most int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keep = keep
	if most == cap(r.ring) {
		return
	}
	oldest := slices.Concat(r.ring[r.next:], r.ring[:r.next])
	surplus := max(0, len(oldest)-most)
	for _, hash := range oldest[:surplus] {
		delete(r.until, hash)
	}
	r.ring, r.next = append(make([]uint64, 0, most), oldest[surplus:]...), 0
}

func (r *refusals) add(provider string, subject enrich.Subject) {
	hash := r.hash(provider, subject)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.keep < 0 || cap(r.ring) == 0 {
		return
	}
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
