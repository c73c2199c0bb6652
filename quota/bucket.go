package quota

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/enrichd/enrichd/enrich"
)

// bucket is a token bucket. The vendor's bucket sees our calls after a way of
// varying length, so a few tokens always stay in it: late calls that arrive in
// a bunch find them.
//
// The limiter is only looked at and taken from, never waited at: a wait cannot
// be re-planned when the rate changes, has no order of urgency, and a
// reservation that was due cannot be given back. What is given back is kept as
// credit here.
type bucket struct {
	rule   rule
	tokens *rate.Limiter
	hold   int64 // tokens that cover the spread of the way
	credit int64 // given back
	guard  time.Duration
	full   time.Time // since when it is full, or when it will be
}

func newBucket(r rule, guard time.Duration) *bucket {
	return &bucket{
		rule:   r,
		tokens: rate.NewLimiter(bucketRate(r, guard), int(r.Burst)),
		hold:   bucketHold(r, guard),
		guard:  guard,
	}
}

// perSecond is the rule's rate.
func (r rule) perSecond() float64 { return float64(r.Amount) / r.Window.Seconds() }

// bucketRate is how many tokens may be spent per second. A bucket too small to
// hold back for late calls is spent more slowly: of any burst+1 calls the last
// must arrive a token's time after the first.
func bucketRate(r rule, guard time.Duration) rate.Limit {
	slowest := float64(r.Burst) / (1/r.perSecond() + guard.Seconds())
	return rate.Limit(min(r.perSecond(), slowest))
}

// bucketHold is how many tokens stay: for what is late by the guard, and because
// a large burst takes its time to leave.
func bucketHold(r rule, guard time.Duration) int64 {
	if guard == 0 {
		return 0
	}
	return 1 + int64(math.Ceil(r.perSecond()*guard.Seconds())) + r.Burst/20
}

func (b *bucket) ready(now time.Time, n int64, d demand) (time.Time, bool) {
	if n > b.rule.Burst {
		return never, true
	}
	b.spill(now)
	keep := int64(d.keep(now, b.rule.Burst, b.rule.Window))
	need := float64(min(n+b.hold+keep, max(b.rule.Burst, n)))
	at := b.when(now, need)
	if rest := b.rest(n); rest > 0 {
		if rested := b.full.Add(rest); rested.After(at) {
			at = rested
		}
	}
	return at, true
}

// rest is how long the bucket must have been full before a call that is too large
// to leave the held tokens in it: so long may those before it be late. Calls of one
// unit are kept apart by the rate.
func (b *bucket) rest(n int64) time.Duration {
	if n == 1 || n+b.hold <= b.rule.Burst {
		return 0
	}
	return max(0, b.guard-time.Duration(float64(b.rule.Burst-n)/b.rule.perSecond()*float64(time.Second)))
}

// spill lets credit run over where the bucket is full with it.
func (b *bucket) spill(now time.Time) {
	if b.credit > 0 {
		room := float64(b.rule.Burst) - b.tokens.TokensAt(now)
		b.credit = min(b.credit, max(0, int64(room)))
	}
}

// when is the time at which there are need tokens.
func (b *bucket) when(now time.Time, need float64) time.Time {
	lacking := need - float64(b.credit) - b.tokens.TokensAt(now)
	if lacking <= 0 {
		return now
	}
	// A nanosecond more than exact arithmetic asks for, against rounding.
	return now.Add(time.Duration(lacking/float64(b.tokens.Limit())*float64(time.Second)) + 1)
}

func (b *bucket) take(now time.Time, n int64, _ demand) {
	given := min(b.credit, n)
	b.credit -= given
	b.tokens.AllowN(now, int(n-given))
	b.fills(now)
}

// fills notes when the bucket will be full, after it got emptier.
func (b *bucket) fills(now time.Time) { b.full = b.when(now, float64(b.rule.Burst)) }

// late does nothing: calls that come together find the tokens that are held.
func (b *bucket) late(_, _, _ time.Time, _ int64) {}

func (b *bucket) finish(now, then time.Time, n int64, sent bool) {
	if !sent {
		b.credit += n
		b.spill(now)
	}
}

func (b *bucket) estimate(now time.Time, n int64, d demand) time.Time {
	keep := int64(d.keep(now, b.rule.Burst, b.rule.Window))
	return b.when(now, float64(max(n+min(b.hold+keep, b.rule.Burst-1), 0)))
}

// lower burns the tokens that the vendor does not have. A hint of no more than
// a reset time says nothing about a bucket.
func (b *bucket) lower(now time.Time, state enrich.LimitState) {
	if state.Remaining < 0 {
		return
	}
	if surplus := int64(b.tokens.TokensAt(now)) + b.credit - state.Remaining; surplus > 0 {
		burnt := min(b.credit, surplus)
		b.credit -= burnt
		b.tokens.AllowN(now, int(surplus-burnt))
		b.fills(now)
	}
}

func (b *bucket) apply(now time.Time, r rule, guard time.Duration) {
	b.tokens.SetLimitAt(now, bucketRate(r, guard))
	b.tokens.SetBurstAt(now, int(r.Burst))
	b.rule, b.hold, b.guard = r, bucketHold(r, guard), guard
	b.spill(now)
	b.fills(now)
}

func (b *bucket) level(now time.Time) Level {
	b.spill(now)
	left := max(0, int64(b.tokens.TokensAt(now))+b.credit)
	return b.rule.level(b.rule.Burst, left, b.when(now, float64(b.rule.Burst)))
}

func (b *bucket) gathers() bool { return true }

// level describes a window of the rule.
func (r rule) level(amount, left int64, reset time.Time) Level {
	return Level{Name: r.Name, Unit: r.Unit, Shape: r.Shape, Amount: amount, Left: left, ResetAt: reset}
}

func (b *bucket) store(now time.Time) storedWindow {
	return storedWindow{Tokens: b.tokens.TokensAt(now) + float64(b.credit), At: now}
}

func (b *bucket) restore(now time.Time, s storedWindow) {
	tokens := s.Tokens + max(0, now.Sub(s.At).Seconds())*float64(b.tokens.Limit())
	if lacking := b.rule.Burst - int64(tokens); lacking > 0 {
		b.tokens.AllowN(now, int(min(lacking, b.rule.Burst)))
		b.fills(now)
	}
}

func (b *bucket) exhaust(now time.Time) {
	b.credit = 0
	b.tokens.AllowN(now, int(b.tokens.TokensAt(now)))
	b.fills(now)
}
