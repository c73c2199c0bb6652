package judge

import (
	"math"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// allowed is how many calls the limits let through in a time, at most and evenly
// spread over their windows. took is how long a call takes, for limits on calls
// at once. It is infinite without limits.
func allowed(limits []strict.Limit, length, took time.Duration) float64 {
	least := math.Inf(1)
	for _, limit := range limits {
		least = min(least, allowedBy(limit, length, took))
	}
	return least
}

func allowedBy(limit strict.Limit, length, took time.Duration) float64 {
	amount := float64(limit.Amount)
	switch limit.Shape {
	case strict.TokenBucket:
		burst := limit.Burst
		if burst == 0 {
			burst = limit.Amount
		}
		return float64(burst) + amount*length.Seconds()/limit.Window.Seconds()
	case strict.Fixed, strict.Sliding:
		return amount * length.Seconds() / limit.Window.Seconds()
	case strict.Concurrency:
		return amount * length.Seconds() / max(took, time.Millisecond).Seconds()
	default: // a day or a month
		return amount
	}
}

// perSecond is what the limits allow in the long run; 0: without end.
func perSecond(limits []strict.Limit) float64 {
	least := math.Inf(1)
	for _, limit := range limits {
		if limit.Window > 0 {
			least = min(least, float64(limit.Amount)/limit.Window.Seconds())
		}
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// judged is until when a vendor's quota is judged. A window that the end of the
// load cuts in two may be used up at once or evenly, and both are right; so its
// calls and its share do not count. known is false when no window was whole.
func (l Ledger) judged(from, to time.Time) (until time.Time, known bool) {
	until = to
	for _, quota := range l.Quotas {
		for _, limit := range quota.Limits {
			if end := to.Truncate(max(limit.Window, 1)); limit.Shape == strict.Fixed && end.Before(until) {
				until = end
			}
		}
	}
	return until, until.After(from)
}

// allowed is how many calls the ledger's limits let through between two
// moments; 0 when there are none.
func (l Ledger) allowed(from, to time.Time) float64 {
	var sum float64
	for i, quota := range l.Quotas {
		begin, end := quota.From, to
		if begin.Before(from) {
			begin = from
		}
		if i+1 < len(l.Quotas) && l.Quotas[i+1].From.Before(to) {
			end = l.Quotas[i+1].From
		}
		if !end.After(begin) {
			continue
		}
		sum += allowed(quota.Limits, end.Sub(begin), l.meanCall())
	}
	if math.IsInf(sum, 1) {
		return 0
	}
	return sum
}

// meanCall is how long an admitted call took.
func (l Ledger) meanCall() time.Duration {
	var sum float64
	var n int
	for _, entry := range l.Entries {
		if entry.Limit == "" && entry.Status != 0 {
			sum += entry.Milliseconds
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return time.Duration(sum / float64(n) * float64(time.Millisecond))
}

// quotaAt is what the limits allow per second at a moment.
func (l Ledger) quotaAt(at time.Time) float64 {
	var held []strict.Limit
	for _, quota := range l.Quotas {
		if !quota.From.After(at) {
			held = quota.Limits
		}
	}
	return perSecond(held)
}
