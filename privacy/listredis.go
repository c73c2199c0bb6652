package privacy

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/redisconn"
)

const (
	// pollEvery and redisPatience together are how soon a change made at one
	// replica is known to all.
	pollEvery     = 250 * time.Millisecond
	redisPatience = 500 * time.Millisecond
	// pageSize is how many changes go over the network at once.
	pageSize = 1000

	changeField = "c"
)

// listRedis is the list's copy in Redis: a stream of all changes, never
// trimmed. It is used by one goroutine at a time.
type listRedis struct {
	client redis.UniversalClient
	key    string
	tags   *Tagger
	// cursor is the id of the last change that was read, and seen how many were:
	// a stream that is shorter has lost some.
	cursor string
	seen   int64
}

func newListRedis(config redisconn.Config, tags *Tagger) (*listRedis, error) {
	client, err := config.Client(redisconn.Options{Patience: redisPatience, PoolSize: 2})
	if err != nil {
		return nil, err
	}
	return &listRedis{client: client, key: config.Prefix + "suppressions", tags: tags, cursor: "0-0"}, nil
}

// waitUntilRead waits until every replica that Redis answers has read what is in
// it now. One that has not may ask providers about somebody who is on the list.
func waitUntilRead(ctx context.Context) {
	select {
	case <-time.After(pollEvery + redisPatience):
	case <-ctx.Done():
	}
}

// news is what a look at the stream brought.
type news struct {
	changes []change
	// lost tells that the stream has fewer changes than it had: all that are
	// known here must be compared with it. It is read from its beginning then.
	lost bool
	// unreadable names the first entry that is none of ours.
	unreadable error
}

// next reads a page of the changes since the last one; none: there are no more.
func (r *listRedis) next(ctx context.Context) (found news, err error) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	var length *redis.IntCmd
	var page *redis.XMessageSliceCmd
	if _, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		length = pipe.XLen(ctx, r.key)
		page = pipe.XRangeN(ctx, r.key, "("+r.cursor, "+", pageSize)
		return nil
	}); err != nil {
		return news{}, err
	}
	if length.Val() < r.seen {
		r.cursor, r.seen = "0-0", 0
		return news{lost: true}, nil
	}
	for _, entry := range page.Val() {
		r.cursor = entry.ID
		r.seen++
		text, _ := entry.Values[changeField].(string)
		read, err := r.tags.read(text)
		if err != nil {
			if found.unreadable == nil {
				found.unreadable = fmt.Errorf("entry %s of the stream %s %w", entry.ID, r.key, err)
			}
			continue
		}
		found.changes = append(found.changes, read)
	}
	return found, nil
}

// rewind has the stream read from its beginning.
func (r *listRedis) rewind() { r.cursor, r.seen = "0-0", 0 }

// add appends changes. On an error some may have been appended.
func (r *listRedis) add(ctx context.Context, changes []change) error {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, c := range changes {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: r.key, Values: []string{changeField, r.tags.write(c)}})
		}
		return nil
	})
	return err
}
