package accounts

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func (r Rate) withDefaults() Rate {
	if r.Burst == 0 && r.PerSecond > 0 {
		r.Burst = int(min(math.Ceil(r.PerSecond), maxBurst))
	}
	return r
}

// Allowance is whether a caller may ask now, and what the RateLimit headers say.
type Allowance struct {
	OK bool
	// Limit is how many requests may come at once; 0: there is no limit, and the
	// other fields say nothing.
	Limit int
	// Remaining is how many may still come at once now.
	Remaining int
	// Reset is the time until Limit requests may come at once again.
	Reset time.Duration
	// Retry is the time until the refused request can succeed; 0 when OK.
	Retry time.Duration
}

// Refusal is the error for the caller; nil when OK.
func (a Allowance) Refusal() error {
	if a.OK {
		return nil
	}
	return &enrich.Error{
		Kind: enrich.Throttled, Reason: "account_rate", Offset: -1, ReadyAt: time.Now().Add(a.Retry),
		Message: "the account asks more often than it may",
	}
}

// limiter is a token bucket kept as one number (the generic cell rate
// algorithm, GCRA): the time at which the bucket is full again. A nil limiter
// allows everything. It is safe for concurrent use, without locks.
type limiter struct {
	interval int64 // nanoseconds until one token comes back
	burst    int64
	full     atomic.Int64 // nanoseconds of the registry's clock
}

func newLimiter(rate Rate) *limiter {
	if rate.PerSecond == 0 {
		return nil
	}
	return &limiter{interval: max(1, int64(float64(time.Second)/rate.PerSecond)), burst: int64(rate.Burst)}
}

// inherit returns the limiter to go on with instead of l: old itself if nothing
// has changed, else l with as many tokens missing as old lacks now.
func (l *limiter) inherit(old *limiter, now int64) *limiter {
	switch {
	case l == nil || old == nil:
		return l
	case l.interval == old.interval && l.burst == old.burst:
		return old
	}
	missing := max(0, old.full.Load()-now+old.interval-1) / old.interval
	l.full.Store(now + min(missing, maxBurst)*l.interval)
	return l
}

// take takes n tokens, or none. More than fit into the bucket are given when it
// is full and must then be earned: a batch larger than the burst is not refused
// for ever.
func (l *limiter) take(now, n int64) Allowance {
	if l == nil {
		return Allowance{OK: true}
	}
	n = min(max(n, 1), maxBurst)
	size := l.burst * l.interval
	for {
		was := l.full.Load()
		full := max(was, now)
		if late := full - now + min(n, l.burst)*l.interval - size; late > 0 {
			return l.allowance(full-now, time.Duration(late))
		}
		next := full + n*l.interval
		if l.full.CompareAndSwap(was, next) {
			return l.allowance(next-now, 0)
		}
	}
}

// allowance describes a bucket that is full after a while.
func (l *limiter) allowance(after int64, retry time.Duration) Allowance {
	return Allowance{
		OK:        retry == 0,
		Limit:     int(l.burst),
		Remaining: int(max(0, l.burst*l.interval-after) / l.interval),
		Reset:     time.Duration(after),
		Retry:     retry,
	}
}
