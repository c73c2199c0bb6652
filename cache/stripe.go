package cache

import (
	"sync"
	"time"
)

// stripe holds what memory knows of the subjects whose tags end alike.
type stripe struct {
	mu     sync.RWMutex
	closed bool
	items  map[tag]item
	// erased tells when subjects were erased, for as long as a load from
	// before may still come in; floor holds for all subjects.
	erased map[tag]erasure
	floor  erasure
}

// maxErased bounds the remembered erasures of one stripe.
const maxErased = 256

// erase remembers an erasure. When there are too many, the oldest facts of all
// subjects are refused instead of those of single ones.
func (s *stripe) erase(t tag, x erasure) {
	if s.erased[t].at.After(x.at) {
		return
	}
	if len(s.erased) >= maxErased {
		for _, earlier := range s.erased {
			s.floor.at = later(s.floor.at, earlier.at)
			s.floor.version = max(s.floor.version, earlier.version)
		}
		clear(s.erased)
	}
	if s.erased == nil {
		s.erased = map[tag]erasure{}
	}
	s.erased[t] = x
}

// pass returns what the erasures leave of an entry, nil for nothing. Whether it
// may be kept here is false for what only the floor refuses: it was not erased,
// for all that is known, but it cannot be told apart from what was.
func (s *stripe) pass(e *entry) (left *entry, keep bool) {
	if left = s.erased[e.tag].apply(e); left == nil {
		return nil, false
	}
	return left, s.floor.apply(left) == left
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
