package sinks

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"
)

// Secret signs and verifies as Standard Webhooks says
// (https://www.standardwebhooks.com). It prints as nothing.
type Secret struct{ key []byte }

// secretPrefix begins the written form of a secret.
const secretPrefix = "whsec_"

// The least and most bytes of a secret.
const (
	leastSecret = 24
	mostSecret  = 64
)

// ParseSecret reads "whsec_" and base64 of 24 to 64 random bytes.
func ParseSecret(text string) (Secret, error) {
	encoded, ok := strings.CutPrefix(text, secretPrefix)
	key, err := base64.StdEncoding.DecodeString(encoded)
	if !ok || err != nil || len(key) < leastSecret || len(key) > mostSecret {
		return Secret{}, errors.New("sinks: a secret is whsec_ and base64 of 24 to 64 bytes")
	}
	return Secret{key: key}, nil
}

// String returns a fixed text.
func (Secret) String() string { return "[secret]" }

// GoString returns a fixed text.
func (Secret) GoString() string { return "[secret]" }

// Sign returns the signature of one attempt: "v1," and base64 of the
// HMAC-SHA256 of id, time and body. The id has no dots, which would make the
// signed text ambiguous.
func (s Secret) Sign(id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
	mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
