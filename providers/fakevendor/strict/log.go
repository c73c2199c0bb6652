package strict

import "time"

// log remembers when the newest units were taken, as many as the limit has:
// one more fits when the oldest of them has left the window.
type log struct {
	window time.Duration
	taken  []time.Time // a ring; zero: not yet used
	next   int         // the oldest, which the next unit overwrites
}

func newLog(l Limit) *log {
	return &log{window: l.Window, taken: make([]time.Time, l.Amount)}
}

// nth is when the n-th oldest unit leaves the window.
func (g *log) nth(n int64) time.Time {
	taken := g.taken[(g.next+int(n)-1)%len(g.taken)]
	if taken.IsZero() {
		return taken
	}
	return taken.Add(g.window)
}

func (g *log) ready(now time.Time, n int64) time.Time {
	if n > int64(len(g.taken)) {
		return time.Time{}
	}
	if free := g.nth(n); free.After(now) {
		return free
	}
	return now
}

func (g *log) take(now time.Time, n int64) {
	for range min(n, int64(len(g.taken))) {
		g.taken[g.next] = now
		g.next = (g.next + 1) % len(g.taken)
	}
}

func (g *log) release(int64) {}

func (g *log) left(now time.Time) (int64, time.Time) {
	size := int64(len(g.taken))
	low, high := int64(0), size // the units free now are the oldest ones
	for low < high {
		middle := (low + high + 1) / 2
		if g.nth(middle).After(now) {
			high = middle - 1
		} else {
			low = middle
		}
	}
	if low == size {
		return low, now
	}
	return low, g.nth(low + 1)
}
