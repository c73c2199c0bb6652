package enrich

import (
	"sync"
	"time"
)

// Crew runs functions in goroutines that wait for more when they have ended one,
// with the stack that they have grown: to grow a new one for each look-up, and for
// each vendor's call, takes a twentieth of a miss. The zero Crew is ready; it is
// safe for concurrent use.
type Crew struct {
	mu      sync.Mutex
	next    chan func()
	resting int
	closed  bool
}

// So many goroutines wait for more at most, and for so long: as many as a few batches
// of misses keep busy.
const (
	mostResting = 512
	longestRest = 200 * time.Millisecond
)

// Go runs a function at once, in a goroutine that nobody else uses meanwhile.
func (c *Crew) Go(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.next == nil && !c.closed {
		c.next = make(chan func())
	}
	select {
	case c.next <- do:
		c.resting--
	default:
		go c.work(do, c.next)
	}
}

// work runs a function, and those that come next.
func (c *Crew) work(do func(), next <-chan func()) {
	rest := time.NewTimer(longestRest)
	defer rest.Stop()
	for {
		do()
		if !c.mayRest() {
			return
		}
		rest.Reset(longestRest)
		select {
		case do = <-next:
			if do == nil { // closed
				return
			}
		case <-rest.C:
			c.mu.Lock()
			c.resting--
			c.mu.Unlock()
			return
		}
	}
}

func (c *Crew) mayRest() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.resting == mostResting {
		return false
	}
	c.resting++
	return true
}

// Close ends the goroutines that wait for more, and the others when their functions
// have ended. What comes from then on has a goroutine of its own.
func (c *Crew) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed && c.next != nil {
		close(c.next)
	}
	c.closed, c.next = true, nil
}
