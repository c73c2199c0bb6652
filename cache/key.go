package cache

import (
	"crypto/hmac"
	"crypto/sha256"
	"hash"
	"sync"

	"github.com/enrichd/enrichd/email"
)

// tag names a subject in every tier: the HMAC-SHA-256 of its key. Whoever sees
// tags without the pepper cannot try addresses against them.
type tag [sha256.Size]byte

// tagger makes tags. It is safe for concurrent use.
type tagger struct{ states sync.Pool }

// tagging is one reusable computation.
type tagging struct {
	mac hash.Hash
	buf []byte
}

func newTagger(pepper string) *tagger {
	return &tagger{states: sync.Pool{New: func() any {
		return &tagging{mac: hmac.New(sha256.New, []byte(pepper))}
	}}}
}

func (t *tagger) tag(key email.Key) (out tag) {
	state := t.states.Get().(*tagging)
	state.buf = append(state.buf[:0], key.Reveal()...)
	state.mac.Reset()
	state.mac.Write(state.buf)
	state.buf = state.mac.Sum(state.buf[:0])
	copy(out[:], state.buf)
	t.states.Put(state)
	return out
}
