package enrich

import (
	"slices"
	"sync"
	"time"
)

// Crew runs functions in goroutines that wait for more when they have ended one,
// with the stack that they have grown: to grow a new one for each look-up, and for
// each vendor's call, takes a twentieth of a miss. The zero Crew is ready; it is
// safe for concurrent use.
type Crew struct {
	mu sync.Mutex
	// rested takes what is next to those who wait for more. Who came last goes
	// first, with a stack that is still warm.
	rested []chan func()
	// unused is how many have waited since the last sweep without being needed.
	unused int
	sweeps *time.Timer // nil: nobody waits
	closed bool
}

// So many goroutines wait for more at most, as many as a few batches of misses keep
// busy, and for so long or up to twice as long.
const (
	mostResting = 512
	longestRest = 200 * time.Millisecond
)

// Go runs a function at once, in a goroutine that nobody else uses meanwhile.
func (c *Crew) Go(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := len(c.rested) - 1
	if last < 0 {
		go c.work(do)
		return
	}
	c.rested[last] <- do // has room for it
	c.rested = c.rested[:last]
	c.unused = min(c.unused, last)
}

// work runs a function, and those that come next.
func (c *Crew) work(do func()) {
	for next := make(chan func(), 1); do != nil; do = <-next {
		do()
		if !c.rest(next) {
			return
		}
	}
}

// rest has what is next sent to a goroutine, if it may wait for it.
func (c *Crew) rest(next chan func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.rested) == mostResting {
		return false
	}
	c.rested = append(c.rested, next)
	if c.sweeps == nil {
		c.sweeps = time.AfterFunc(longestRest, c.sweep)
	}
	return true
}

// sweep ends the goroutines that were not needed since it was called last.
func (c *Crew) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, next := range c.rested[:c.unused] {
		next <- nil
	}
	c.rested = slices.Delete(c.rested, 0, c.unused)
	c.unused = len(c.rested)
	if c.sweeps = nil; c.unused > 0 {
		c.sweeps = time.AfterFunc(longestRest, c.sweep)
	}
}

// Close ends the goroutines that wait for more, and the others when their functions
// have ended. What comes from then on has a goroutine of its own.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, next := range c.rested {
		next <- nil
	}
	c.rested, c.unused, c.closed = nil, 0, true
}
