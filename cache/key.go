package cache

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
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

// keyspace spells the names of keys in Redis. All keys of one subject share a
// hash tag, so that one script may touch them in a cluster; the hash tag is
// only the first byte of the subject's tag, so that subjects of one group may
// share keys too.
type keyspace struct{ prefix string }

func (k keyspace) subject(t tag) string {
	return k.prefix + "{" + hex.EncodeToString(t[:1]) + "}:" + base64.RawURLEncoding.EncodeToString(t[:])
}

// entry is the key of a subject's record.
func (k keyspace) entry(t tag) string { return k.subject(t) + schemaSuffix[schema] }

// erased is the key of the time of a subject's last erasure.
func (k keyspace) erased(t tag) string { return k.subject(t) + ":erased" }

// forgotten lists the keys that an erasure deletes: the records of every
// schema, so that an older program erases what a newer one has stored.
func (k keyspace) forgotten(t tag) []string {
	subject := k.subject(t)
	var keys []string
	for _, suffix := range schemaSuffix[1:] {
		keys = append(keys, subject+suffix)
	}
	return keys
}
