package privacy

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"sync"

	"github.com/enrichd/enrichd/email"
)

// Tag stands for a subject wherever the subject itself must not: the first half
// of the HMAC-SHA-256 of its folded address or domain. Without the pepper no
// address can be tried against it. The zero Tag is that of no subject.
type Tag [16]byte

// String returns 32 hexadecimal digits.
func (t Tag) String() string { return hex.EncodeToString(t[:]) }

// Tagger makes tags. It is safe for concurrent use.
type Tagger struct{ tags, seals keyedHash }

// NewTagger makes a tagger of the configured pepper, or without one of a secret
// of this process alone.
func NewTagger(pepper string) *Tagger {
	if pepper == "" {
		pepper = rand.Text()
	}
	return &Tagger{tags: newKeyedHash(pepper, "subject tag"), seals: newKeyedHash(pepper, "seal")}
}

// Tag returns a subject's tag, the same for all addresses that documented
// aliases make one mailbox.
func (t *Tagger) Tag(key email.Key) Tag {
	if key.IsZero() {
		return Tag{}
	}
	_, folded := key.Forms()
	return t.of(folded)
}

// forms returns the tags of both forms of a subject.
func (t *Tagger) forms(key email.Key) (exact, folded Tag) {
	one, two := key.Forms()
	exact = t.of(one)
	if one == two {
		return exact, exact
	}
	return exact, t.of(two)
}

func (t *Tagger) of(form string) (out Tag) {
	sum := t.tags.sum(form)
	copy(out[:], sum[:])
	return out
}

// seal authenticates a text of ours.
func (t *Tagger) seal(text string) [sha256.Size]byte { return t.seals.sum(text) }

// keyedHash is an HMAC-SHA-256 under one purpose's own key. It is safe for
// concurrent use.
type keyedHash struct{ states *sync.Pool }

type hashState struct {
	mac hash.Hash
	buf []byte
}

func newKeyedHash(pepper, purpose string) keyedHash {
	key, err := hkdf.Key(sha256.New, []byte(pepper), nil, "enrichd "+purpose, sha256.Size)
	if err != nil {
		panic(err) // only for keys longer than HKDF can make
	}
	return keyedHash{&sync.Pool{New: func() any { return &hashState{mac: hmac.New(sha256.New, key)} }}}
}

func (h keyedHash) sum(text string) (out [sha256.Size]byte) {
	state := h.states.Get().(*hashState)
	defer h.states.Put(state)
	state.buf = append(state.buf[:0], text...)
	state.mac.Reset()
	state.mac.Write(state.buf)
	state.buf = state.mac.Sum(state.buf[:0])
	copy(out[:], state.buf)
	return out
}
