package cache

import (
	"sync/atomic"
	"time"
)

// clock translates Redis's time. What it errs by, it errs on the later side, so
// that no load from before an erasure passes for one from after.
type clock struct {
	known atomic.Bool
	// ahead is how many microseconds Redis's clock is ahead of ours at least.
	ahead atomic.Int64
}

// set takes the time that an answer of Redis carries, which is there now.
func (c *clock) set(redis int64) {
	c.ahead.Store(redis - time.Now().UnixMicro())
	c.known.Store(true)
}

// ours is a Redis time in microseconds on our clock; now, if nothing is known
// of Redis's.
func (c *clock) ours(redis int64) time.Time {
	if !c.known.Load() {
		return time.Now()
	}
	return time.UnixMicro(redis - c.ahead.Load())
}
