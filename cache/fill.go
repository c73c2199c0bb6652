package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
	if r.writing.away.Load() {
		r.later(e)
		return e
	}
	stored, err := r.fill(context.WithoutCancel(ctx), e)
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
	if r.current(e) {
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

// current tells whether Redis has nothing that the entry lacks, for all that can
// be known now.
func (r *remote) current(e *entry) bool { return r.news.current(e) || r.reading.away.Load() }

// later has a write tried again.
func (r *remote) later(e *entry) {
	if !r.recovery.add(e) {
		r.stats.lost.Add(1)
	}
}

// fill stores the entry joined with what is stored, and returns what then is.
// It ends this replica's lease on the subject, unless others need it.
func (r *remote) fill(ctx context.Context, e *entry) (*entry, error) {
	return r.fillAs(ctx, e, r.leases.sole(e.tag))
}

// fillAs is fill by the holder of a lease, or with "" by anybody.
func (r *remote) fillAs(ctx context.Context, e *entry, token string) (*entry, error) {
	t, expected, erased := e.tag, e.version, int64(0)
	for begun, tries := time.Now(), 0; tries < maxTries && time.Since(begun) < r.store; tries++ {
		if e = r.barriers.apply(e); e == nil {
			return r.recall(ctx, t), nil
		}
		if len(e.payload) > maxPayload {
			r.stats.refuse(errOversize)
			return e, nil
		}
		asOf := r.news.now(t)
		answer, err := r.tryFill(ctx, e, expected, erased, token)
		if err != nil {
			return nil, err
		}
		if answer.done {
			if token != "" {
				r.leases.wrote(t, token)
			}
			return e.with(func(e *entry) { e.version, e.dirty, e.asOf = answer.version, false, asOf }), nil
		}
		if answer.version != expected {
			expected = answer.version
			e = e.with(func(e *entry) { e.version, e.dirty = expected, true })
		}
		if answer.erased > erased {
			erased = answer.erased
			x := erasure{at: r.clock.ours(erased), version: uint64(erased)}
			r.follower.erased(t, x)
			e = e.since(x.at)
		}
		if answer.stored != "" {
			e = e.join(r.unseal([]byte(answer.stored), t, asOf))
		}
		if e == nil || !e.dirty && token == "" {
			return e, nil
		}
	}
	return nil, errContended
}

// tryFill stores the entry if what is stored has the expected version, and
// nothing was erased after the given time in microseconds.
func (r *remote) tryFill(ctx context.Context, e *entry, expected uint64, erased int64, token string) (filled, error) {
	buffer := sealings.Get().(*[]byte)
	sealed := (*buffer)[:0]
	if e.dirty {
		sealed = e.seal(sealed)
	}
	lasts := max(time.Until(e.until).Milliseconds(), 1)
	reply, err := fillScript.Run(ctx, r.writes,
		r.keys.of(e.tag, schemaSuffix[schema], erasedKey, sequenceKey, leaseKey, overtakerKey),
		expected, erased, sealed, lasts, maxSealed+1, &r.keys.channel, e.tag[:], token).Slice()
	if err != nil {
		return filled{}, err
	}
	*buffer = sealed
	sealings.Put(buffer) // after an error it may be on its way still
	answer, now, err := readFilled(reply)
	if err == nil {
		r.clock.set(now)
	}
	return answer, err
}

// sealings are spare bytes for sealed entries.
var sealings = sync.Pool{New: func() any { return new([]byte) }}

// filled is the answer of the fill script.
type filled struct {
	done    bool
	version uint64 // that is stored now
	erased  int64  // when the subject was last erased, in microseconds; 0: never
	stored  string // what is stored instead
}

func readFilled(reply []any) (answer filled, now int64, err error) {
	var done, version int64
	if err := numbers(reply, &done, &version, &now, &answer.erased); err != nil || len(reply) != 5 {
		return filled{}, 0, errScript
	}
	stored, ok := reply[4].(string)
	if !ok {
		return filled{}, 0, errScript
	}
	answer.done, answer.version, answer.stored = done == 1, uint64(version), stored
	return answer, now, nil
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
	keys := append(r.keys.of(t, erasedKey, sequenceKey), r.keys.data(t)...)
	return forgetScript.Run(ctx, r.writes, keys, erasureStays.Milliseconds(), r.keys.channel, t[:]).Err()
}
