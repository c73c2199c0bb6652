package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestAJumpOfTheClockIsCountedAndWarnedAboutOnce, in both directions.
func TestAJumpOfTheClockIsCountedAndWarnedAboutOnce(t *testing.T) {
	for name, jump := range map[string]time.Duration{"forward": 3 * time.Hour, "back": -3 * time.Hour, "a little": 1100 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				c := watchClock(new(atomic.Uint64), slog.New(slog.NewTextHandler(&lines, nil)))
				defer c.close()
				time.Sleep(clockLook)
				synctest.Wait()
				wall, running := c.wall, c.running
				look := func(after, put time.Duration) {
					wall, running = wall.Add(after+put), running+after
					c.look(wall, running)
				}
				if look(clockLook, 0); c.jumps.Load() != 0 || lines.Len() != 0 {
					t.Fatalf("a steady clock: %d jumps, %q", c.jumps.Load(), lines.String())
				}
				look(clockLook, jump)
				look(clockLook, 900*time.Millisecond) // a time service slews
				look(clockLook, -jump)
				if got := c.jumps.Load(); got != 2 {
					t.Errorf("%d jumps counted, want 2", got)
				}
				if got := strings.Count(lines.String(), "clock was put"); got != 1 {
					t.Errorf("warned %d times, want once: %s", got, lines.String())
				}
				if want := "by=" + jump.String(); !strings.Contains(lines.String(), want) {
					t.Errorf("the warning does not say %s: %s", want, lines.String())
				}
				look(clockQuit, jump)
				if got := strings.Count(lines.String(), "clock was put"); got != 2 {
					t.Errorf("warned %d times after an hour, want again: %s", got, lines.String())
				}
			})
		})
	}
}
