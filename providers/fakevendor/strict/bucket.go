package strict

import "time"

// bucket is a token bucket. To be exact at every rate it counts, instead of
// tokens, tokens times nanoseconds of the window: one token is worth window,
// and a nanosecond brings amount.
type bucket struct {
	amount, window, full int64
	level                int64
	at                   time.Time // of level; zero: never used, level is full
}

func newBucket(l Limit) *bucket {
	full := l.burst() * int64(l.Window)
	return &bucket{amount: l.Amount, window: int64(l.Window), full: full, level: full}
}

// flow brings the level to now. A clock that steps back brings nothing.
func (b *bucket) flow(now time.Time) {
	since := now.Sub(b.at)
	if b.at.IsZero() || int64(since) >= (b.full-b.level)/b.amount+1 {
		b.level = b.full
	} else if since > 0 {
		b.level = min(b.full, b.level+int64(since)*b.amount)
	}
	if since > 0 {
		b.at = now
	}
}

func (b *bucket) ready(now time.Time, n int64) time.Time {
	b.flow(now)
	switch cost := b.cost(n); {
	case cost > b.full:
		return time.Time{}
	case cost <= b.level:
		return now
	default:
		return now.Add(time.Duration((cost - b.level + b.amount - 1) / b.amount))
	}
}

// cost saturates just above what the bucket can hold.
func (b *bucket) cost(n int64) int64 {
	if n > b.full/b.window {
		return b.full + 1
	}
	return n * b.window
}

func (b *bucket) take(now time.Time, n int64) {
	b.flow(now)
	b.level = max(0, b.level-b.cost(n))
}

func (b *bucket) release(int64) {}

func (b *bucket) left(now time.Time) (int64, time.Time) {
	b.flow(now)
	return b.level / b.window, now.Add(time.Duration((b.full - b.level + b.amount - 1) / b.amount))
}
