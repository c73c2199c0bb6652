package jobs

import (
	"math/rand/v2"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// shortestWait is the least time after which a lead asks again in a world that
// is not ready: thousands that wait must not become a storm.
const shortestWait = 5 * time.Second

// longestWait is the most between two looks at providers that fail for everybody:
// when they are well again nobody tells.
const longestWait = time.Minute

// closedWait is how soon a lead asks again whose providers a person has closed.
const closedWait = 30 * time.Second

// longestBackoff bounds the time between two tries.
const longestBackoff = 12 * time.Hour

// move is what happens to a lead after a failed attempt.
type move int

const (
	wait  move = iota // the world is not ready: again later, and the attempt was none
	retry             // a failure that may pass
	bury              // given up
)

// verdict is a move with its reason.
type verdict struct {
	move   move
	reason string
	after  time.Duration
	// readyAt is when others in the lane that wait likewise may go; zero: nobody
	// knows.
	readyAt time.Time
}

// judge decides what a failed attempt means for a lead; tried is whether a vendor
// was asked and failed for this lead. The time and what is given go in, nothing
// else is looked at.
func judge(failure *enrich.Error, tried bool, lead ledger.Lead, config Config, now time.Time) verdict {
	v := verdict{reason: string(failure.Kind)}
	ready := failure.ReadyAt.Sub(now)
	switch kind := failure.Kind; {
	case kind == enrich.Rejected && (failure.Reason == enrich.ReasonStopped || failure.Reason == enrich.ReasonPaused):
		v.move, v.after = wait, closedWait // a person has closed the providers, and will open them
	case kind == enrich.Throttled:
		v.move, v.after, v.readyAt = wait, max(ready, shortestWait), failure.ReadyAt
	case !tried && (kind == enrich.Unavailable || kind == enrich.OutOfTime):
		v.move, v.after = wait, max(ready, min(grown(shortestWait, int(lead.Fence)), longestWait))
		v.readyAt = now.Add(max(ready, shortestWait))
	case kind == enrich.Unavailable || kind == enrich.OutOfTime || kind == enrich.Internal:
		v.move, v.after = retry, max(ready, grown(config.Backoff, lead.Attempts))
		if lead.Attempts >= config.Tries {
			return verdict{move: bury, reason: v.reason}
		}
	default: // the same request fails for ever
		return verdict{move: bury, reason: v.reason}
	}
	return v.until(lead, now)
}

// until adds jitter, and gives the lead up whose deadline comes first.
func (v verdict) until(lead ledger.Lead, now time.Time) verdict {
	v.after += jitter(v.after)
	if !now.Add(v.after).Before(lead.Deadline) {
		return verdict{move: bury, reason: ledger.DeadBudget}
	}
	return v
}

// passing are the reasons of gaps that may be filled by asking again.
var passing = map[string]bool{
	string(enrich.Temporary): true, string(enrich.Timeout): true, string(enrich.RateLimited): true, string(enrich.Blocked): true,
	string(enrich.Pending): true, enrich.ReasonInFlight: true, enrich.ReasonBreakerOpen: true, enrich.ReasonNoToken: true,
	enrich.ReasonOutOfTime: true,
}

// judgePart decides whether an answer with gaps is tried again for the rest, and
// after how long. What was found is kept meanwhile and not bought again.
func judgePart(answer enrich.Answer, lead ledger.Lead, config Config, now time.Time) (after time.Duration, again bool) {
	if lead.Attempts >= config.Tries {
		return 0, false
	}
	for _, gap := range answer.Gaps {
		again = again || gap.Kind == enrich.GapFailed && passing[gap.Reason]
	}
	after = grown(config.Backoff, lead.Attempts)
	after += jitter(after)
	return after, again && now.Add(after).Before(lead.Deadline)
}

// grown is the backoff after so many tries.
func grown(first time.Duration, tries int) time.Duration {
	for range min(tries-1, 30) {
		if first *= 2; first >= longestBackoff {
			return longestBackoff
		}
	}
	return first
}

// jitter adds up to a fifth, so that what failed together does not come back
// together.
func jitter(wait time.Duration) time.Duration { return rand.N(wait/5 + 1) }
