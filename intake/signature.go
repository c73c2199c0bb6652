package intake

import (
	"crypto/subtle"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/sinks"
)

// The bounds of a signed message's age. A repeat inside of them is harmless:
// events are known by their ids.
const (
	oldest = 5 * time.Minute
	newest = time.Minute // ahead of our clock
)

// ErrSignature is the error of a message that nobody we know signed just now.
var ErrSignature = errors.New("intake: the signature does not hold")

// Verify checks the Standard Webhooks signature of a message as it was received,
// byte for byte, against any of the secrets.
func Verify(header http.Header, body []byte, secrets []sinks.Secret, now time.Time) error {
	id := header.Get("Webhook-Id")
	seconds, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil || id == "" || strings.Contains(id, ".") { // a dot makes what is signed ambiguous
		return ErrSignature
	}
	at := time.Unix(seconds, 0)
	if at.Before(now.Add(-oldest)) || at.After(now.Add(newest)) {
		return ErrSignature
	}
	holds := 0
	for _, secret := range secrets {
		want := []byte(secret.Sign(id, at, body))
		for given := range strings.FieldsSeq(header.Get("Webhook-Signature")) {
			holds |= subtle.ConstantTimeCompare(want, []byte(given))
		}
	}
	if holds == 0 {
		return ErrSignature
	}
	return nil
}
