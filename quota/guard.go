package quota

import "time"

// guard is the doubt about when a call counts at the vendor. It grows to the
// double and a bit when the vendor refuses what should have been allowed, and
// goes back by half for every hour without surprise.
type guard struct {
	configured time.Duration
	now        time.Duration
	changed    time.Time
}

const (
	// guardStep is by how much more than the double a guard grows: clocks are
	// often wrong by a quarter of a second.
	guardStep = 150 * time.Millisecond
	// oneSurprise is how long further surprises count as the same.
	oneSurprise = time.Second
	// calmAfter is how long without surprise before a guard shrinks.
	calmAfter = time.Hour
)

// grow enlarges the guard, and tells whether it changed.
func (g *guard) grow(now time.Time) bool {
	if now.Sub(g.changed) < oneSurprise {
		return false
	}
	g.now, g.changed = min(2*g.now+guardStep, maxGuard), now
	return true
}

// configure changes the configured guard; one that has grown beyond it stays.
func (g *guard) configure(guard time.Duration) {
	if g.now <= g.configured {
		g.now = guard
	}
	g.configured = guard
	g.now = max(g.now, guard)
}

// shrink halves a grown guard after a calm time, and tells whether it changed.
func (g *guard) shrink(now time.Time) bool {
	if g.now <= g.configured || now.Sub(g.changed) < calmAfter {
		return false
	}
	g.now, g.changed = max(g.now/2, g.configured), now
	return true
}
