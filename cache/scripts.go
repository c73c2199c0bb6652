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

func (k keyspace) subject(t tag, name string) string {
	key := make([]byte, 0, 128)
	key = append(key, k.prefix...)
	key = append(key, '{')
	key = hex.AppendEncode(key, t[:1])
	key = append(key, '}', ':')
	key = base64.RawURLEncoding.AppendEncode(key, t[:])
	return string(append(key, name...))
}

// entry is the key of a subject's record.
func (k keyspace) entry(t tag) string { return k.subject(t, schemaSuffix[schema]) }

// erased is the key of the time of a subject's last erasure.
func (k keyspace) erased(t tag) string { return k.subject(t, ":erased") }

// lease is the key of the token of whoever asks vendors about a subject.
func (k keyspace) lease(t tag) string { return k.subject(t, ":lease") }

// overtaker is the key of the token of whoever asks beside the one with the lease.
func (k keyspace) overtaker(t tag) string { return k.subject(t, ":overtaker") }

// data lists the keys that an erasure deletes: the records of every schema, so
// that an older program erases what a newer one has stored.
func (k keyspace) data(t tag) []string {
	keys := []string{k.lease(t), k.overtaker(t)}
	for _, suffix := range schemaSuffix[1:] {
		keys = append(keys, k.subject(t, suffix))
	}
	return keys
}

// sequence is the key of the number of messages about a group.
func (k keyspace) sequence(group byte) string {
	key := make([]byte, 0, 128)
	key = append(key, k.prefix...)
	key = append(key, '{')
	key = hex.AppendEncode(key, []byte{group})
	return string(append(key, "}:sequence"...))
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
