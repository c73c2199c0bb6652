package quota

import (
	"math"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// window is the state of one limit. It is not safe for concurrent use: the
// scheduler's lock guards it. Times passed to it never go back, except when
// the machine's clock does.
type window interface {
	// ready returns when n units may be spent: not after now if at once. What
	// is sure cannot come earlier, unless units are given back.
	ready(now time.Time, n int64, d demand) (at time.Time, sure bool)
	// take spends n units, after ready said so.
	take(now time.Time, n int64, d demand)
	// finish ends a call that took n units then. Units of a call that was never
	// sent go back.
	finish(now, then time.Time, n int64, sent bool)
	// late is told that a call which took n units then left for the vendor at
	// another time, so that they may count from then on.
	late(now, then, left time.Time, n int64)
	// estimate returns when the last of n units can be spent, if all before go
	// to others.
	estimate(now time.Time, n int64, d demand) time.Time
	// lower takes over what the vendor said, where it is less.
	lower(now time.Time, state enrich.LimitState)
	// apply changes the limit; what was spent stays spent.
	apply(now time.Time, r rule, guard time.Duration)
	// store is what the state file keeps, restore goes on from it in a window of
	// which nothing was spent, exhaust counts everything as spent.
	store(now time.Time) storedWindow
	restore(now time.Time, s storedWindow)
	exhaust(now time.Time)
	// level describes the window.
	level(now time.Time) Level
	// gathers tells whether units come back bit by bit, so that a large call
	// has to be waited for while smaller ones hold back.
	gathers() bool
}

// Level is how much of one limit is left.
type Level struct {
	Name   string
	Unit   enrich.Unit
	Shape  enrich.LimitShape
	Amount int64
	Left   int64
	// ResetAt is when Left is full again; zero for a concurrency.
	ResetAt time.Time
}

// demand is what a window must know about those who want to spend.
type demand struct {
	urgent  bool  // the interactive lane asks
	wary    bool  // the vendor refused lately what should have been allowed
	waiting int64 // calls that wait, this one included
	// interactive is when an interactive caller last asked, born when the
	// scheduler began.
	interactive, born time.Time
	reserve           float64 // Config.Reserve
}

const (
	// reserveMemory is for how long after the last interactive caller a
	// reserve is kept, at least.
	reserveMemory = 10 * time.Minute
	// reserveGrace is for how long a start counts as an interactive caller, at
	// most.
	reserveGrace = time.Minute
	// reserveFrom is the least amount of a limit that can spare some calls.
	reserveFrom = 20
)

// keep is how many of amount units the other lanes leave to the interactive
// one at the beginning of a window of the given length. Only while interactive
// callers are about: what nobody comes for would be wasted.
func (d demand) keep(now time.Time, amount int64, length time.Duration) float64 {
	if d.urgent || amount < reserveFrom || d.reserve == 0 || now.Sub(d.interactive) >= max(reserveMemory, length) {
		return 0
	}
	return float64(amount)*d.reserve + 2
}

// keepFixed is keep for a window that does not refill before its end. At first,
// when nobody knows yet who will come, somebody may.
func (d demand) keepFixed(now time.Time, amount int64, length time.Duration) float64 {
	if now.Sub(d.born) < min(reserveGrace, length) {
		d.interactive = now
	}
	return d.keep(now, amount, length)
}

// never is later than any time that matters.
var never = time.Unix(math.MaxInt32*100, 0)

// newWindow is a window in which nothing was spent yet.
func newWindow(now time.Time, r rule, guard, maxCall time.Duration) window {
	switch r.Shape {
	case enrich.TokenBucket:
		return newBucket(r, guard)
	case enrich.Sliding:
		return newSliding(r, guard)
	case enrich.Concurrency:
		return newSlots(r, maxCall)
	default:
		return newFixed(now, r, guard)
	}
}
