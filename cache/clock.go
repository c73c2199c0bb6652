package cache

import (
	"sync"
	"time"
)

// measureFor is how long a comparison of the clocks counts.
const measureFor = time.Minute

// clock translates Redis's time. What it errs by, it errs on the later side, so
// that no load from before an erasure passes for one from after.
type clock struct {
	mu sync.Mutex
	// ahead is how far Redis's clock is ahead of ours at least, as the quickest
	// answer of the last minute or two showed; earlier that of the minute before.
	ahead, earlier time.Duration
	since          time.Time // when ahead was begun; zero: nothing is known
}

// set takes the time in microseconds that an answer of Redis carries, which is
// there now.
func (c *clock) set(redis int64) {
	now := time.Now()
	ahead := time.UnixMicro(redis).Sub(now)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.since.IsZero():
		c.ahead, c.earlier, c.since = ahead, ahead, now
	case now.Sub(c.since) > measureFor:
		c.ahead, c.earlier, c.since = ahead, c.ahead, now
	default:
		c.ahead = max(c.ahead, ahead)
	}
}

// ours is a Redis time in microseconds on our clock; now, if nothing is known
// of Redis's.
func (c *clock) ours(redis int64) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.since.IsZero() {
		return time.Now()
	}
	return time.UnixMicro(redis).Add(-max(c.ahead, c.earlier))
}
