package idempotency

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"github.com/enrichd/enrichd/email"
)

// id names an account's key, tag a subject, and mark a request, wherever they
// are kept: HMACs, because keys and requests can hold addresses.
type (
	id   [sha256.Size]byte
	tag  [sha256.Size]byte
	mark [sha256.Size]byte
)

func (i id) String() string  { return hex.EncodeToString(i[:]) }
func (t tag) String() string { return hex.EncodeToString(t[:]) }

// secrets makes names and encrypts answers under the pepper. It is safe for
// concurrent use.
type secrets struct{ ids, tags, marks, answers []byte }

func newSecrets(pepper string) secrets {
	if pepper == "" {
		pepper = rand.Text() // for this process alone
	}
	derive := func(purpose string) []byte {
		key, err := hkdf.Key(sha256.New, []byte(pepper), nil, "enrichd idempotency "+purpose, sha256.Size)
		if err != nil {
			panic(err) // only for keys longer than HKDF can make
		}
		return key
	}
	return secrets{ids: derive("id"), tags: derive("subject"), marks: derive("request"), answers: derive("answer")}
}

func keyed(key []byte, parts ...string) (sum [sha256.Size]byte) {
	mac := hmac.New(sha256.New, key)
	for _, part := range parts {
		mac.Write([]byte(part))
	}
	mac.Sum(sum[:0])
	return sum
}

// id separates the account, whose name has no NUL, from its key.
func (s secrets) id(account, key string) id { return keyed(s.ids, account, "\x00", key) }

// mark is of a request under an id: the same request looks different elsewhere.
func (s secrets) mark(of id, fingerprint [32]byte) mark {
	return keyed(s.marks, string(of[:]), string(fingerprint[:]))
}

// tags are those of subjects, the same for all aliases of an address.
func (s secrets) tagsOf(subjects []email.Key) []tag {
	var tags []tag
	seen := map[tag]bool{}
	for _, subject := range subjects {
		if subject.IsZero() {
			continue
		}
		_, folded := subject.Forms()
		if t := tag(keyed(s.tags, folded)); !seen[t] {
			seen[t] = true
			tags = append(tags, t)
		}
	}
	return tags
}

// errDamaged is what open says of bytes that seal did not make for the same id
// and mark.
var errDamaged = errors.New("idempotency: a kept answer cannot be decrypted")

// box encrypts with AES-256-GCM under a key of the id's own, so that random
// nonces cannot meet.
func (s secrets) box(of id) cipher.AEAD {
	key := keyed(s.answers, string(of[:]))
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has the right length
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the right block size
	}
	return box
}

func (s secrets) seal(of id, m mark, answer []byte) []byte {
	return s.box(of).Seal(nil, nil, answer, m[:])
}

func (s secrets) open(of id, m mark, sealed []byte) ([]byte, error) {
	answer, err := s.box(of).Open(nil, nil, sealed, m[:])
	if err != nil {
		return nil, errDamaged
	}
	return answer, nil
}
