package cache

import (
	"embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

//go:embed scripts
var scriptFiles embed.FS

var (
	fillScript    = script("fill")
	forgetScript  = script("forget")
	leaseScript   = script("lease")
	renewScript   = script("renew")
	releaseScript = script("release")
	barScript     = script("bar")
)

func script(name string) *redis.Script {
	source, err := scriptFiles.ReadFile("scripts/" + name + ".lua")
	if err != nil {
		panic(fmt.Sprintf("cache: no script %s: %v", name, err))
	}
	return redis.NewScript(string(source))
}

// keyspace spells the names in Redis. All keys of one subject share a hash tag,
// so that one script may touch them in a cluster. The hash tag is only the
// first byte of the subject's tag: the subjects of such a group share a
// sequence number, which counts the messages about them.
type keyspace struct {
	prefix string
	// channel carries the messages. Channels are not part of a database, so it
	// names its own.
	channel string
}

func newKeyspace(prefix string, db int) keyspace {
	return keyspace{prefix: prefix, channel: prefix + "news:" + strconv.Itoa(db)}
}

// The ends of a subject's keys. That of a record is in schemaSuffix.
const (
	erasedKey    = ":erased"    // the time of its last erasure
	leaseKey     = ":lease"     // the token of whoever asks vendors about it
	overtakerKey = ":overtaker" // the token of whoever asks beside the one with the lease
	sequenceKey  = "}:sequence" // of its group, not its own: the number of messages
)

// of spells keys of one subject, in one piece of memory.
func (k keyspace) of(t tag, ends ...string) []string {
	text, at := make([]byte, 0, 1<<9), make([]int, 0, 1<<3)
	for _, end := range ends {
		text = k.appendKey(text, t, end)
		at = append(at, len(text))
	}
	whole, from := string(text), 0
	keys := make([]string, len(ends))
	for i, to := range at {
		keys[i], from = whole[from:to], to
	}
	return keys
}

func (k keyspace) appendKey(text []byte, t tag, end string) []byte {
	text = append(text, k.prefix...)
	text = append(text, '{')
	text = hex.AppendEncode(text, t[:1])
	if end != sequenceKey {
		text = append(text, '}', ':')
		text = base64.RawURLEncoding.AppendEncode(text, t[:])
	}
	return append(text, end...)
}

// entry is the key of a subject's record.
func (k keyspace) entry(t tag) string {
	return string(k.appendKey(make([]byte, 0, 1<<7), t, schemaSuffix[schema]))
}

// data lists the keys that an erasure deletes: the records of every schema, so
// that an older program erases what a newer one has stored.
func (k keyspace) data(t tag) []string {
	return k.of(t, append([]string{leaseKey, overtakerKey}, schemaSuffix[1:]...)...)
}

// sequence is the key of the number of messages about a group.
func (k keyspace) sequence(group byte) string {
	return string(k.appendKey(nil, tag{group}, sequenceKey))
}

// barriers is the key of the times until which providers are not believed.
func (k keyspace) barriers() string { return k.prefix + "barriers" }

// hottest is the key of the subjects asked for lately.
func (k keyspace) hottest() string { return k.prefix + "hottest" }

// numbers reads the integers that begin a script's answer.
func numbers(reply []any, into ...*int64) error {
	if len(reply) < len(into) {
		return errScript
	}
	for i := range into {
		number, ok := reply[i].(int64)
		if !ok {
			return errScript
		}
		*into[i] = number
	}
	return nil
}
