package quota

import (
	"math"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// fixed is a fixed window: amount at the start of each, by the vendor's clock.
//
// Near an edge nobody can tell in which window the vendor will count a call.
// Within the guard of an edge it therefore counts in both: a busy account
// waits out the guard, an idle one does not notice.
//
// A third of the window may go at once, and so may the backlog that was known
// when it opened, if it fits. The rest is spread evenly over the window, so that
// whoever comes later finds some left. In windows of more than two
// minutes everything goes at once: nobody waits that long for his turn.
type fixed struct {
	rule       rule
	guard      time.Duration
	learned    int64 // what the vendor says it allows; 0: nothing
	start, end time.Time
	before     int64 // spent in the window before
	used       int64 // spent in this one
	after      int64 // spent at its end, which counts in the next too
	known      int64 // calls that waited when the window opened; -1: not asked yet
	paced      time.Time
	closed     time.Time // the vendor says: nothing is left until then
}

// catchUp is how far a late timer may fall behind the even pace and still make
// up for it.
const catchUp = 50 * time.Millisecond

// longestSpread is the longest window over which a backlog is spread.
const longestSpread = 2 * time.Minute

func newFixed(now time.Time, r rule, guard time.Duration) *fixed {
	f := &fixed{rule: r, guard: guard, known: -1}
	f.start, f.end = r.calendar.around(now)
	return f
}

// roll goes on to the window that holds now. When the clock was put back, what
// was spent stays spent.
func (f *fixed) roll(now time.Time) {
	if !now.Before(f.start) && now.Before(f.end) {
		return
	}
	back := now.Before(f.start)
	ended := f.end
	f.known = -1
	f.start, f.end = f.rule.calendar.around(now)
	switch {
	case back:
		f.before = f.used
	case f.start.Equal(ended):
		f.before, f.used, f.after = f.used, f.after, 0
	default:
		f.before, f.used, f.after = 0, 0, 0
	}
}

func (f *fixed) amount() int64 {
	if f.learned > 0 {
		return min(f.learned, f.rule.Amount)
	}
	return f.rule.Amount
}

// margin is the guard, which leaves at least a fifth of the window.
func (f *fixed) margin() time.Duration { return min(f.guard, f.end.Sub(f.start)*2/5) }

func (f *fixed) ready(now time.Time, n int64, d demand) (time.Time, bool) {
	if n > f.rule.Amount {
		return never, true
	}
	f.roll(now)
	if f.known < 0 {
		f.known = d.waiting * n
	}
	left := f.amount() - f.used
	switch opened := f.start.Add(f.margin()); {
	case now.Before(f.closed):
		return f.closed, true
	case n > left:
		return f.end.Add(f.margin()), true
	case f.before+n > f.amount() && now.Before(opened):
		return opened, true
	}
	if d.urgent {
		return now, true
	}
	if at := f.spare(now, left-n, d); at.After(now) {
		return at, false
	}
	gap := f.gap(now, n, d)
	if at := f.paced.Add(gap); at.After(now) {
		return at, false
	}
	if at := f.start.Add(f.lead()); gap == 0 && f.before+n > f.amount() && now.Before(at) {
		return at, false
	}
	return now, true
}

// lead is how long after the beginning of a window, when the one before was
// spent, many calls may begin at once. If the vendor's clock is further behind
// than the guard, an even pace meets few refusals, a crowd meets many.
func (f *fixed) lead() time.Duration {
	return max(f.margin(), min(f.end.Sub(f.start)*7/20, 350*time.Millisecond))
}

// spare is when the reserve has shrunk so far that rest units cover it.
func (f *fixed) spare(now time.Time, rest int64, d demand) time.Time {
	length := f.end.Sub(f.start)
	keep := d.keepFixed(now, f.amount(), length)
	if keep == 0 {
		return now
	}
	// keep·(1 − passed/length) < rest + 1
	passed := time.Duration(float64(length) * (1 - float64(rest+1)/keep))
	return f.start.Add(passed + 1)
}

// gap is the time from one call of n units to the next at an even pace, 0 if it
// can go at once.
func (f *fixed) gap(now time.Time, n int64, d demand) time.Duration {
	left, length := f.amount()-f.used, f.end.Sub(f.start)
	// What is a little more than fits is better gone but for a few. A vendor that
	// surprised us gets nothing at once.
	fits := !d.wary && d.waiting*n <= left+left/50-int64(d.keepFixed(now, f.amount(), length))
	if length > longestSpread || fits && f.used < max(f.known, f.line(now)) {
		return 0
	}
	return max(0, time.Duration(float64(f.horizon().Sub(now))*float64(n)/float64(left)))
}

// line is how much of the window may be spent by now: a third at once, the rest
// evenly.
func (f *fixed) line(now time.Time) int64 {
	third := f.amount() / 3
	passed := now.Sub(f.start).Seconds() / f.end.Sub(f.start).Seconds()
	return third + int64(math.Ceil(float64(f.amount()-third)*passed))
}

// horizon is by when the window should be spent: a little before its end, so
// that what comes back late is not lost.
func (f *fixed) horizon() time.Time {
	slack := min(f.end.Sub(f.start)/50, time.Second)
	return f.end.Add(-f.margin() - slack)
}

func (f *fixed) take(now time.Time, n int64, d demand) {
	if gap := f.gap(now, n, d); gap > 0 && !d.urgent {
		late := now.Add(-min(gap, catchUp))
		if next := f.paced.Add(gap); next.After(late) {
			late = next
		}
		f.paced = late
	}
	f.used += n
	if !now.Before(f.end.Add(-f.margin())) {
		f.after += n
	}
}

func (f *fixed) finish(now, then time.Time, n int64, sent bool) {
	f.roll(now)
	if sent {
		return
	}
	switch {
	case !then.Before(f.start):
		f.used = max(0, f.used-n)
		if !then.Before(f.end.Add(-f.margin())) {
			f.after = max(0, f.after-n)
		}
	case !then.Before(f.start.Add(-f.margin())):
		f.used = max(0, f.used-n)
		f.before = max(0, f.before-n)
	}
}

// late counts units of the window before in this one, into which the call that
// took them came.
func (f *fixed) late(now, then, left time.Time, n int64) {
	f.roll(now)
	edge := f.start.Add(-f.margin())
	if then.Before(edge) && !left.Before(edge) {
		f.used += n
	}
}

func (f *fixed) estimate(now time.Time, n int64, d demand) time.Time {
	f.roll(now)
	begin, left := now, f.amount()-f.used
	if now.Before(f.closed) {
		begin = f.closed
	}
	if n <= left {
		return begin.Add(f.gap(now, 1, d) * time.Duration(n-1))
	}
	rest, waiting := n-left, d.waiting-left
	length := f.end.Sub(f.start)
	windows := (rest - 1) / f.amount()
	at := f.end.Add(f.margin() + time.Duration(windows)*length)
	rest, waiting = rest-windows*f.amount(), waiting-windows*f.amount()
	if waiting > f.amount() {
		at = at.Add(time.Duration(float64(length) * float64(rest) / float64(f.amount())))
	}
	return at
}

func (f *fixed) lower(now time.Time, state enrich.LimitState) {
	f.roll(now)
	if state.Limit > 0 {
		f.learned = state.Limit
	}
	if state.Remaining < 0 {
		return
	}
	f.used = max(f.used, f.amount()-state.Remaining)
	// The vendor's window may end later than ours; a reset further away than
	// one length is no reset of this window.
	if state.Remaining == 0 && state.ResetAt.After(f.end) && state.ResetAt.Before(f.end.Add(f.end.Sub(f.start))) {
		f.closed = state.ResetAt
	}
}

func (f *fixed) apply(now time.Time, r rule, guard time.Duration) {
	f.roll(now)
	f.rule, f.guard = r, guard
	f.start, f.end = r.calendar.around(now)
}

func (f *fixed) level(now time.Time) Level {
	f.roll(now)
	left := max(0, f.amount()-f.used)
	if now.Before(f.closed) {
		left = 0
	}
	return f.rule.level(f.rule.Amount, left, f.end)
}

func (f *fixed) gathers() bool { return false }

func (f *fixed) store(now time.Time) storedWindow {
	f.roll(now)
	return storedWindow{Start: f.start, End: f.end, Before: f.before, Used: f.used, After: f.after}
}

func (f *fixed) restore(now time.Time, s storedWindow) {
	f.roll(now)
	switch {
	case s.Start.Equal(f.start):
		f.before, f.used, f.after = s.Before, s.Used, s.After
	case s.End.Equal(f.start):
		f.before, f.used = s.Used, s.After
	case s.Start.After(now):
		f.used = s.Used // the clock was put back: nothing is refilled
	}
}

func (f *fixed) exhaust(now time.Time) {
	f.roll(now)
	f.used = max(f.used, f.amount())
}
