package accounts

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"strings"
)

// An API key is
//
//	enr_ 43 random characters, 6 characters of checksum
//
// all letters and digits, so that a double click selects it and no shell or URL
// changes it. The prefix lets scanners for leaked secrets find it, and the
// checksum lets them, and enrichd keys hash, tell a key from a slip of the pen.
// It says nothing about its account.
const (
	keyPrefix    = "enr_"
	randomLength = 43 // of 62 characters: 256 bits
	sumLength    = 6  // of 62 characters: 32 bits
	keyLength    = len(keyPrefix) + randomLength + sumLength

	alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
)

// hashPrefix begins a hash in the configuration, so that another function can
// take its place one day.
const hashPrefix = "sha256:"

// digest is the SHA-256 of a key. A key is 256 random bits, which nobody can
// guess at any speed, so the slow hashes that passwords need would only make
// requests slow.
type digest [sha256.Size]byte

// NewKey makes an API key of 256 random bits. It is a secret: only its hash is
// kept.
func NewKey() string {
	key := make([]byte, 0, keyLength)
	key = append(key, keyPrefix...)
	const even = 256 / len(alphabet) * len(alphabet) // above it characters would not be equally likely
	var random [2 * randomLength]byte
	for len(key) < len(keyPrefix)+randomLength {
		_, _ = rand.Read(random[:]) // never fails
		for _, b := range random {
			if int(b) < even && len(key) < len(keyPrefix)+randomLength {
				key = append(key, alphabet[int(b)%len(alphabet)])
			}
		}
	}
	sum := sumOf(string(key))
	return string(append(key, sum[:]...))
}

// sumOf is the checksum of what stands before it.
func sumOf(text string) (sum [sumLength]byte) {
	number := crc32.ChecksumIEEE([]byte(text))
	for i := range sum {
		sum[sumLength-1-i] = alphabet[number%uint32(len(alphabet))]
		number /= uint32(len(alphabet))
	}
	return sum
}

// errNoKey is what HashKey says of everything else. It never repeats the text,
// which may be a key that was cut short.
var errNoKey = errors.New("this is no key: a key begins with " + keyPrefix + " and ends with a checksum, which does not fit")

// HashKey returns what the configuration holds of a key, or an error if the text
// is no key.
func HashKey(key string) (string, error) {
	if len(key) != keyLength || !strings.HasPrefix(key, keyPrefix) {
		return "", errNoKey
	}
	before := key[:keyLength-sumLength]
	if sum := sumOf(before); key[keyLength-sumLength:] != string(sum[:]) || strings.Trim(before[len(keyPrefix):], alphabet) != "" {
		return "", errNoKey
	}
	hash := digestOf(key)
	return hashPrefix + hex.EncodeToString(hash[:]), nil
}

// digestOf hashes what a caller sent. It works the same for every text: what has
// not the length of a key is hashed as one of zeros, which is the hash of no
// key.
func digestOf(key string) digest {
	var text [keyLength]byte
	if len(key) == keyLength {
		copy(text[:], key)
	}
	return sha256.Sum256(text[:])
}

// errNoHash never repeats the text, which may be a key put in the wrong place.
var errNoHash = errors.New("is not " + hashPrefix + " and 64 hexadecimal digits: enrichd keys hash makes it from a key")

// parseHash reads a hash of the configuration.
func parseHash(text string) (hash digest, err error) {
	digits, ok := strings.CutPrefix(text, hashPrefix)
	raw, err := hex.DecodeString(digits)
	if !ok || err != nil || len(raw) != len(hash) {
		return digest{}, errNoHash
	}
	return digest(raw), nil
}
