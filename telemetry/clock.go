package telemetry

import (
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	clockLook = 10 * time.Second // how often the clocks are compared
	clockJump = time.Second      // what clocks may differ by between two looks
	clockQuit = time.Hour        // how long a warning stands for further jumps
)

// clock notices when the machine's clock is put forward or back: what was
// remembered then ends early or late, and days and months begin at other
// moments. Intervals are measured by the monotonic clock and do not change.
// That one stands still while a machine sleeps, which therefore counts as a
// jump too.
type clock struct {
	log   *slog.Logger
	jumps *atomic.Uint64

	wall    time.Time     // at the last look
	running time.Duration // by the monotonic clock, at the last look
	warned  time.Duration // running, at the last warning
	quit    chan struct{}
	ended   chan struct{}
}

// watchClock looks until it is closed, and counts the jumps.
func watchClock(jumps *atomic.Uint64, log *slog.Logger) *clock {
	start := time.Now()
	c := &clock{log: log, jumps: jumps, wall: start, warned: -clockQuit, quit: make(chan struct{}), ended: make(chan struct{})}
	go func() {
		defer close(c.ended)
		ticks := time.NewTicker(clockLook)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				c.look(time.Now(), time.Since(start))
			case <-c.quit:
				return
			}
		}
	}()
	return c
}

// look compares how far both clocks have come since the last look.
func (c *clock) look(wall time.Time, running time.Duration) {
	ahead := wall.Round(0).Sub(c.wall.Round(0)) - (running - c.running)
	c.wall, c.running = wall, running
	if ahead.Abs() < clockJump {
		return
	}
	c.jumps.Add(1)
	if running-c.warned < clockQuit {
		return
	}
	c.warned = running
	c.log.Warn("the machine's clock was put: remembered answers may end early or late, and quotas of days and months begin at another moment; check its time service",
		"by", ahead.Round(time.Millisecond).String())
}

func (c *clock) close() {
	close(c.quit)
	<-c.ended
}
