package idempotency

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// lock is a key in Redis that one worker of all replicas has. A nil lock is that
// of a worker without Redis.
type lock struct {
	shared *shared
	id     id
	mark   mark
	value  string
	// completed: an answer has taken the lock's place.
	completed bool
}

// renew keeps the lock until stop is called, which gives it back unless an
// answer took its place. A lock that is lost is lost: the worker goes on, and
// another may do the same work.
func (l *lock) renew() (stop func()) {
	if l == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var renewing sync.WaitGroup
	renewing.Go(func() {
		tick := time.NewTicker(lockFor / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_ = l.shared.call(ctx, func(ctx context.Context) error {
				return renewScript.Run(ctx, l.shared.client, []string{l.shared.keyOf(l.id)}, l.value, lockFor.Milliseconds()).Err()
			})
		}
	})
	return func() {
		cancel()
		renewing.Wait()
		if !l.completed {
			_ = l.shared.call(context.Background(), func(ctx context.Context) error {
				return releaseScript.Run(ctx, l.shared.client, []string{l.shared.keyOf(l.id)}, l.value).Err()
			})
		}
	}
}

// complete keeps an answer in the place of the lock and returns the one that
// another worker has kept before. The error says that it is not kept in Redis.
//
// The index is written first and marks of erasures are read last: an erasure
// leaves its mark first and reads the index last, so one of the two always sees
// the other.
func (l *lock) complete(ctx context.Context, k *kept) (earlier []byte, err error) {
	if l == nil {
		return nil, errAway
	}
	r, key := l.shared, l.shared.keyOf(k.id)
	if err := r.call(ctx, func(ctx context.Context) error { return r.index(ctx, key, k) }); err != nil {
		return nil, err
	}
	value := string(kindAnswer) + string(k.mark[:]) + string(r.secrets.seal(k.id, k.mark, k.answer))
	var held string
	err = r.call(ctx, func(ctx context.Context) (err error) {
		held, err = completeScript.Run(ctx, r.client, []string{key}, value, r.keepFor.Milliseconds()).Text()
		return err
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		return nil, err
	}
	l.completed = true
	if r.erased(ctx, k.about) {
		if err := r.call(ctx, func(ctx context.Context) error { return r.client.Del(ctx, key).Err() }); err != nil {
			r.log.Error("idempotency: an answer about somebody who was just erased is kept until it ends", "error", err)
		}
		return nil, nil
	}
	if found := r.unseal(k.id, held); found != nil && found.mark == k.mark {
		return found.answer, nil
	}
	return nil, nil
}

// index notes under every subject of an answer where it is kept.
func (r *shared) index(ctx context.Context, key string, k *kept) error {
	if len(k.about) == 0 {
		return nil
	}
	_, err := r.client.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, t := range k.about {
			index := r.indexOf(t)
			pipe.ZRemRangeByScore(ctx, index, "-inf", "("+score(time.Now()))
			pipe.ZAdd(ctx, index, redis.Z{Score: float64(k.until.UnixMilli()), Member: key})
			// The index outlives its last answer, whose time begins a little later.
			pipe.PExpire(ctx, index, r.keepFor+time.Minute)
		}
		return nil
	})
	return err
}

func score(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) }
