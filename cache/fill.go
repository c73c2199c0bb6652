package cache

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// maxTries bounds how often a write is joined anew because another came
	// first. Each time at least one write of the subject succeeded.
	maxTries = 32
	// erasureStays is how long an erasure refuses what was loaded before it.
	erasureStays = 7 * 24 * time.Hour
)

var (
	// errContended is the error of a write before which others came too often.
	errContended = errors.New("cache: too many writes of one subject at once")
	// errScript is the error of a script's answer that cannot be read.
	errScript = errors.New("cache: unreadable answer of a script")
)

func (r *remote) remember(ctx context.Context, e *entry) *entry {
	if r.breaker.away.Load() {
		r.later(e)
		return e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	stored, err := r.fill(ctx, e)
	if err != nil {
		r.failed(err)
		r.later(e)
		return e
	}
	return stored
}

// check trusts what is known elsewhere if nothing was missed, and while Redis
// is away.
func (r *remote) check(ctx context.Context, e *entry) *entry {
	if r.news.current(e) || r.breaker.away.Load() {
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, r.patience.recall)
	defer cancel()
	checked, err := r.fillAs(ctx, e, "")
	if err != nil {
		r.failed(err)
		return e
	}
	return checked
}

// later has a write tried again.
func (r *remote) later(e *entry) {
	if !r.recovery.add(e) {
		r.stats.lost.Add(1)
	}
}

// fill stores the entry joined with what is stored, and returns what then is.
// It ends this replica's lease on the subject.
func (r *remote) fill(ctx context.Context, e *entry) (*entry, error) {
	return r.fillAs(ctx, e, r.leases.token(e.tag))
}

// fillAs is fill by the holder of a lease, or with "" by anybody.
func (r *remote) fillAs(ctx context.Context, e *entry, token string) (*entry, error) {
	expected, erased := e.version, int64(0)
	keys := []string{r.keys.entry(e.tag), r.keys.erased(e.tag), r.keys.sequence(e.tag[0]), r.keys.lease(e.tag)}
	for range maxTries {
		if e = r.barriers.apply(e); e == nil {
			return nil, nil
		}
		var sealed []byte
		if e.dirty {
			sealed = e.seal()
		}
		asOf := r.news.now(e.tag)
		reply, err := fillScript.Run(ctx, r.writes, keys, expected, erased, sealed,
			max(time.Until(e.until).Milliseconds(), 1), maxSealed+1, r.keys.channel(), e.tag[:], token).Slice()
		if err != nil {
			return nil, err
		}
		answer, err := readFilled(reply)
		if err != nil {
			return nil, err
		}
		r.clock.set(answer.now)
		if answer.done {
			if token != "" {
				r.leases.end(e.tag, token)
			}
			return e.with(func(e *entry) { e.version, e.dirty, e.asOf = uint64(answer.version), false, asOf }), nil
		}
		if answer.erased > erased {
			erased = answer.erased
			x := erasure{at: r.clock.ours(erased), version: uint64(erased)}
			r.follower.erased(e.tag, x)
			if e = e.since(x.at); e == nil {
				return nil, nil
			}
		}
		if expected != uint64(answer.version) {
			expected = uint64(answer.version)
			e = e.with(func(e *entry) { e.version, e.dirty = expected, true })
		}
		if e = e.join(r.instead(answer, e.tag, asOf)); !e.dirty && token == "" {
			return e, nil
		}
	}
	return nil, errContended
}

// instead is the entry that was stored instead, nil if there is none of ours.
func (r *remote) instead(answer filled, t tag, asOf moment) *entry {
	if answer.stored == "" {
		return nil
	}
	return r.unseal([]byte(answer.stored), t, asOf)
}

// filled is the answer of the fill script.
type filled struct {
	done    bool
	version int64
	now     int64 // Redis time in microseconds
	erased  int64 // likewise; 0: never
	stored  string
}

func readFilled(reply []any) (answer filled, err error) {
	var done int64
	if err := numbers(reply, &done, &answer.version, &answer.now, &answer.erased); err != nil || len(reply) != 5 {
		return filled{}, errScript
	}
	stored, ok := reply[4].(string)
	if !ok {
		return filled{}, errScript
	}
	answer.done, answer.stored = done == 1, stored
	return answer, nil
}

func (r *remote) forget(ctx context.Context, t tag) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	if err := r.erase(ctx, t); err != nil {
		r.failed(err)
		return fmt.Errorf("cache: redis has not erased yet: %w", errors.Join(err, r.recovery.erase(t)))
	}
	return nil
}

func (r *remote) erase(ctx context.Context, t tag) error {
	keys := append([]string{r.keys.erased(t), r.keys.sequence(t[0])}, r.keys.data(t)...)
	return forgetScript.Run(ctx, r.writes, keys, erasureStays.Milliseconds(), r.keys.channel(), t[:]).Err()
}
