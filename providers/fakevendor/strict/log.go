package strict

import "time"

// log remembers when the newest units were taken, as many as the limit has:
// one more fits when the oldest of them has left the window.
type log struct {
	window time.Duration
	taken  []int64 // a ring of nanoseconds since 1970; 0: not yet used
	next   int     // the oldest, which the next unit overwrites
}

func newLog(l Limit) *log {
	return &log{window: l.Window, taken: make([]int64, l.Amount)}
}

// leaves is when the n-th oldest unit leaves the window.
func (g *log) leaves(n int64) int64 {
	taken := g.taken[(g.next+int(n)-1)%len(g.taken)]
	if taken == 0 {
		return 0
	}
	return taken + int64(g.window)
}

func (g *log) ready(now time.Time, n int64) time.Time {
	if n > int64(len(g.taken)) {
		return time.Time{}
	}
	if wait := g.leaves(n) - now.UnixNano(); wait > 0 {
		return now.Add(time.Duration(wait))
	}
	return now
}

func (g *log) take(now time.Time, n int64) {
	for range min(n, int64(len(g.taken))) {
		g.taken[g.next] = now.UnixNano()
		g.next = (g.next + 1) % len(g.taken)
	}
}

func (g *log) release(int64) {}

func (g *log) left(now time.Time) (int64, time.Time) {
	size := int64(len(g.taken))
	low, high := int64(0), size // the units free now are the oldest ones
	for low < high {
		middle := (low + high + 1) / 2
		if g.leaves(middle) > now.UnixNano() {
			high = middle - 1
		} else {
			low = middle
		}
	}
	if low == size {
		return low, now
	}
	return low, now.Add(time.Duration(g.leaves(low+1) - now.UnixNano()))
}
