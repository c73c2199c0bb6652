package cache

import (
	"context"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// A message tells all replicas of a change in Redis, in the moment of the
// change: the script that makes it sends it. Numbers are big-endian.
//
//	0  1  what happened
//	1  8  number of the message among those about the group of subjects
//	9  8  version, or time of the erasure, in microseconds of Redis's clock
//	17 32  tag
//
// Barriers were raised: only the first byte.
const (
	opFilled   = 'f' // Redis took a version
	opErased   = 'x' // the subject was erased
	opReleased = 'r' // a lease ended without a new version
	opBarred   = 'b' // barriers were raised

	messageSize = 49
)

const (
	// compareEvery is how often the numbers of messages are compared with those
	// in Redis, so that the loss of a last message is noticed too.
	compareEvery = 30 * time.Second
	// unread bounds the messages that wait to be handled.
	unread = 8192
)

// heard are the numbers of the last messages that were heard about each group.
type heard struct {
	last     [256]int64
	earlier  [256]int64 // what Redis had when it was last compared
	compared bool
}

// follow handles messages until ctx ends. Delivery is not guaranteed: a new
// subscription and a hole in the numbers mean that something was missed.
func (r *remote) follow(ctx context.Context) {
	subscription := r.reads.Subscribe(ctx, r.keys.channel)
	defer subscription.Close()
	messages := subscription.ChannelWithSubscriptions(
		redis.WithChannelSize(unread),
		redis.WithChannelHealthCheckInterval(3*time.Second),
		redis.WithChannelSendTimeout(time.Second),
	)
	compare := time.NewTicker(compareEvery)
	defer compare.Stop()
	var heard heard
	for {
		select {
		case <-ctx.Done():
			return
		case <-compare.C:
			r.compare(ctx, &heard)
		case message, open := <-messages:
			if !open {
				return
			}
			switch message := message.(type) {
			case *redis.Subscription:
				r.news.missedAll()
				r.stats.gaps.Add(1)
				heard.compared = false
				r.compare(ctx, &heard)
			case *redis.Message:
				r.hear(ctx, &heard, message.Payload)
			}
		}
	}
}

// hear handles one message.
func (r *remote) hear(ctx context.Context, heard *heard, message string) {
	if message == string(opBarred) {
		r.loadBarriers(ctx)
		return
	}
	if len(message) != messageSize {
		return
	}
	number := int64(binary.BigEndian.Uint64([]byte(message[1:9])))
	version := binary.BigEndian.Uint64([]byte(message[9:17]))
	t := tag([]byte(message[17:]))
	switch message[0] {
	case opFilled:
		r.news.heard(t, version)
		r.follower.written(t, version)
	case opErased:
		r.follower.erased(t, erasure{at: r.clock.ours(int64(version)), version: version})
	}
	r.leases.ring(t)

	last := &heard.last[t[0]]
	if number > *last+1 && heard.compared {
		r.miss(t[0])
	}
	*last = max(*last, number)
}

func (r *remote) miss(group byte) {
	r.news.missed(group)
	r.stats.gaps.Add(1)
}

// compare finds the groups about which a message has not come for a whole
// round, or whose numbers began anew.
func (r *remote) compare(ctx context.Context, heard *heard) {
	ctx, cancel := context.WithTimeout(ctx, r.store)
	defer cancel()
	replies, err := r.reads.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for group := range 256 {
			pipe.Get(ctx, r.keys.sequence(byte(group)))
		}
		return nil
	})
	if err != nil && err != redis.Nil {
		r.failed(err)
		return
	}
	for group := range heard.last {
		number, err := strconv.ParseInt(replies[group].(*redis.StringCmd).Val(), 10, 64)
		if err != nil {
			number = 0
		}
		last := &heard.last[group]
		if heard.compared && (number < *last || heard.earlier[group] > *last) {
			r.miss(byte(group))
			*last = number
		}
		if !heard.compared {
			*last = number
		}
		heard.earlier[group] = number
	}
	heard.compared = true
	r.loadBarriers(ctx)
}
