package jobs

import (
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// crowd knows what is paused, and notices when nothing but waiting happens in a
// lane: it stops the lane then, so that those who wait ask once when the world
// is ready instead of over and over.
type crowd struct {
	mu       sync.Mutex
	waiting  map[enrich.Lane]int       // in a row, without one that went
	earliest map[enrich.Lane]time.Time // at which one of them may go
	stops    []ledger.Switch
	lanes    map[enrich.Lane]bool // whether the queue's lane is paused
}

// went tells that a lead of the lane was worked.
func (c *crowd) went(lane enrich.Lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.waiting, lane)
	delete(c.earliest, lane)
}

// waits tells that a lead of the lane cannot go before a time. When as many as
// the lane has workers waited in a row, the lane is to be stopped until then.
func (c *crowd) waits(lane enrich.Lane, workers int, readyAt time.Time) (until time.Time, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting == nil {
		c.waiting, c.earliest = map[enrich.Lane]int{}, map[enrich.Lane]time.Time{}
	}
	c.waiting[lane]++
	if at := c.earliest[lane]; at.IsZero() || readyAt.Before(at) {
		c.earliest[lane] = readyAt
	}
	if c.waiting[lane] < workers {
		return time.Time{}, false
	}
	until = c.earliest[lane]
	delete(c.waiting, lane)
	delete(c.earliest, lane)
	return until, until.After(time.Now())
}

// obey takes over what is paused and returns the lanes that change, or may
// have, with whether they are paused now.
func (c *crowd) obey(stops []ledger.Switch) (changed map[enrich.Lane]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stops = stops
	changed = map[enrich.Lane]bool{}
	now := make(map[enrich.Lane]bool, len(Lanes))
	for _, lane := range Lanes {
		_, now[lane] = c.stopOf(ledger.ScopeLane, string(lane))
		if before, known := c.lanes[lane]; !known || before != now[lane] {
			changed[lane] = now[lane]
		}
	}
	c.lanes = now
	return changed
}

// unsure forgets which lanes are paused, so that obey returns all of them.
func (c *crowd) unsure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lanes = nil
}

func (c *crowd) isPaused(scope ledger.Scope, name string) bool {
	_, paused := c.pausedUntil(scope, name)
	return paused
}

// pausedUntil tells whether something is paused, and until when; the zero time:
// until a person says so.
func (c *crowd) pausedUntil(scope ledger.Scope, name string) (until time.Time, paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopOf(scope, name)
}

// hold is a Later while the lane is paused, else nil: the queue may take some
// seconds to notice, and hands out jobs until then.
func (c *crowd) hold(lane enrich.Lane) error {
	until, paused := c.pausedUntil(ledger.ScopeLane, string(lane))
	if !paused {
		return nil
	}
	return Later(max(time.Until(until), shortestWait) + jitter(shortestWait))
}

// stopOf is pausedUntil under the lock.
func (c *crowd) stopOf(scope ledger.Scope, name string) (until time.Time, paused bool) {
	for _, stop := range c.stops {
		if stop.Scope == ledger.ScopeAll || stop.Scope == scope && stop.Name == name {
			return stop.Until, true
		}
	}
	return time.Time{}, false
}

// accounts that are paused.
func (c *crowd) accounts() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, stop := range c.stops {
		if stop.Scope == ledger.ScopeAccount {
			names = append(names, stop.Name)
		}
	}
	return names
}
