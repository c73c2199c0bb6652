package idempotency

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/redisconn"
)

const (
	// patience is how long one call to Redis may take.
	patience = 250 * time.Millisecond
	// restFor is how long Redis is left alone after it has failed.
	restFor = 2 * time.Second
	// lockFor is how soon the key of a worker that crashed is free again. A
	// worker that lives renews its lock three times as often.
	lockFor = 10 * time.Second
	// The pauses between looks at a key that another replica works for.
	firstLook = 20 * time.Millisecond
	lastLook  = 250 * time.Millisecond
	pool      = 16
)

// A value in Redis is a lock or an answer:
//
//	0  1  L or A
//	1  32 mark of the request
//	33    of a lock: a token of its holder; of an answer: its ciphertext
const (
	kindLock   = 'L'
	kindAnswer = 'A'
	headerSize = 1 + len(mark{})
)

//go:embed scripts/acquire.lua
var acquireSource string

//go:embed scripts/renew.lua
var renewSource string

//go:embed scripts/release.lua
var releaseSource string

//go:embed scripts/complete.lua
var completeSource string

var (
	acquireScript  = redis.NewScript(acquireSource)
	renewScript    = redis.NewScript(renewSource)
	releaseScript  = redis.NewScript(releaseSource)
	completeScript = redis.NewScript(completeSource)
)

// errAway is the error of what was not sent, because Redis failed lately or there
// is none.
var errAway = errors.New("idempotency: redis is away")

// shared are the answers in Redis, which all replicas share. A nil shared is no
// Redis. It is safe for concurrent use.
type shared struct {
	client  redis.UniversalClient
	prefix  string
	keepFor time.Duration
	secrets secrets
	log     *slog.Logger
	// rests is until when Redis is left alone, in Unix nanoseconds; 0: it is
	// well. Told is when that was last logged.
	rests, told atomic.Int64
}

func newShared(config Config, secrets secrets, log *slog.Logger) (*shared, error) {
	client, err := config.Redis.Client(redisconn.Options{Patience: patience, PoolSize: pool})
	if err != nil {
		return nil, err
	}
	return &shared{
		client: client, prefix: config.Redis.Prefix, keepFor: config.KeepFor,
		secrets: secrets, log: log,
	}, nil
}

func (r *shared) keyOf(of id) string       { return r.prefix + "idem:" + of.String() }
func (r *shared) indexOf(about tag) string { return r.prefix + "idem-about:" + about.String() }
func (r *shared) erasedKey(of tag) string  { return r.prefix + "idem-erased:" + of.String() }

// call sends something to Redis, unless that failed lately: then one call every
// restFor finds out whether it is back.
func (r *shared) call(ctx context.Context, send func(context.Context) error) error {
	if r == nil {
		return errAway
	}
	rests, now := r.rests.Load(), time.Now()
	if rests != 0 && (now.UnixNano() < rests || !r.rests.CompareAndSwap(rests, now.Add(restFor).UnixNano())) {
		return errAway
	}
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := send(limited)
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		if rests != 0 {
			r.rests.Store(0)
			r.log.Info("idempotency: redis is back")
		}
	case ctx.Err() != nil: // the caller has left; that says nothing of Redis
	default:
		r.rests.Store(time.Now().Add(restFor).UnixNano())
		if told := r.told.Load(); now.UnixNano()-told >= int64(time.Minute) && r.told.CompareAndSwap(told, now.UnixNano()) {
			r.log.Warn("idempotency: redis is away: a repeated request that reaches another replica is worked again", "error", err)
		}
	}
	return err
}

// acquire waits until the key is answered, or locked for the caller. Without
// Redis both are nil, and so is the lock if Redis goes away.
func (r *shared) acquire(ctx context.Context, of id, m mark) (*lock, *kept, error) {
	if r == nil {
		return nil, nil, nil
	}
	l := &lock{shared: r, id: of, mark: m, value: string(kindLock) + string(m[:]) + rand.Text()}
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		var held string
		err := r.call(ctx, func(ctx context.Context) (err error) {
			held, err = acquireScript.Run(ctx, r.client, []string{r.keyOf(of)}, l.value, lockFor.Milliseconds()).Text()
			return err
		})
		switch {
		case errors.Is(err, redis.Nil) || err == nil && held == l.value:
			return l, nil, nil
		case ctx.Err() != nil:
			return nil, nil, inProgress(ctx)
		case err != nil:
			return nil, nil, nil
		}
		switch found, locked := r.unseal(of, held), lockedFor(held); {
		case found != nil:
			return nil, found, nil
		case locked == nil:
			r.discard(ctx, of, held)
		case *locked != m: // refused as if it were answered already
			return nil, &kept{mark: *locked}, nil
		}
		look := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			look.Stop()
			return nil, nil, inProgress(ctx)
		case <-look.C:
		}
	}
}

// unseal returns the answer in a value, nil if there is none that can be read.
func (r *shared) unseal(of id, value string) *kept {
	if len(value) < headerSize || value[0] != kindAnswer {
		return nil
	}
	m := mark([]byte(value[1:headerSize]))
	answer, err := r.secrets.open(of, m, []byte(value[headerSize:]))
	if err != nil {
		return nil
	}
	if answer == nil {
		answer = []byte{}
	}
	return &kept{id: of, mark: m, answer: answer}
}

// lockedFor is the mark of the request that a value is the lock of, nil if it is
// no lock.
func lockedFor(value string) *mark {
	if len(value) <= headerSize || value[0] != kindLock {
		return nil
	}
	m := mark([]byte(value[1:headerSize]))
	return &m
}

// discard removes what is neither a lock nor an answer of ours.
func (r *shared) discard(ctx context.Context, of id, value string) {
	r.log.Warn("idempotency: a kept answer is damaged and worked again")
	_ = r.call(ctx, func(ctx context.Context) error {
		return releaseScript.Run(ctx, r.client, []string{r.keyOf(of)}, value).Err()
	})
}

// erased tells whether a subject was erased at any replica lately. While Redis
// cannot say so nobody was.
func (r *shared) erased(ctx context.Context, about []tag) bool {
	erased := false
	_ = r.call(ctx, func(ctx context.Context) error {
		var found []*redis.IntCmd
		_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, t := range about {
				found = append(found, pipe.Exists(ctx, r.erasedKey(t)))
			}
			return nil
		})
		for _, one := range found {
			erased = erased || one.Val() > 0
		}
		return err
	})
	return erased
}

// erase drops all answers about a subject. It first leaves a mark, so that an
// answer that another replica is about to keep is dropped by that replica.
func (r *shared) erase(ctx context.Context, about tag) (dropped int, err error) {
	if r == nil {
		return 0, nil
	}
	err = r.call(ctx, func(ctx context.Context) error {
		if err := r.client.Set(ctx, r.erasedKey(about), "1", r.keepFor).Err(); err != nil {
			return err
		}
		keys, err := r.client.ZRange(ctx, r.indexOf(about), 0, -1).Result()
		if err != nil {
			return err
		}
		replies, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
			for _, key := range keys {
				pipe.Del(ctx, key)
			}
			pipe.Del(ctx, r.indexOf(about))
			return nil
		})
		for i := range min(len(keys), len(replies)) {
			dropped += int(replies[i].(*redis.IntCmd).Val())
		}
		return err
	})
	return dropped, err
}
