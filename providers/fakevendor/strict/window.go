package strict

import (
	"fmt"
	"time"
)

// window is a counter that begins anew at fixed moments: every Window by the
// zone's clock, or once a day or a month. It remembers the window it is in and
// works out the next one only when that has passed.
type window struct {
	Limit
	zone       *time.Location
	resetAt    time.Duration
	begin, end time.Time
	used       int64
}

// newWindow makes a window of a valid limit.
func newWindow(l Limit) *window {
	zone, err := time.LoadLocation(l.Zone)
	if err != nil {
		panic(fmt.Sprintf("strict: a limit of zone %q was not validated", l.Zone))
	}
	resetAt, err := l.resetAt()
	if err != nil {
		panic(fmt.Sprintf("strict: a limit with reset_at %q was not validated", l.ResetAt))
	}
	return &window{Limit: l, zone: zone, resetAt: resetAt}
}

// roll begins the window that holds now.
func (w *window) roll(now time.Time) {
	if !now.Before(w.begin) && now.Before(w.end) {
		return
	}
	w.used = 0
	local := now.In(w.zone)
	switch w.Shape {
	case Fixed:
		_, offset := local.Zone()
		into := time.Duration((now.UnixNano() + int64(offset)*int64(time.Second)) % int64(w.Window))
		w.begin = now.Add(-into)
		w.end = w.begin.Add(w.Window)
	case Day:
		w.begin, w.end = w.reset(local.Year(), local.Month(), local.Day()), w.reset(local.Year(), local.Month(), local.Day()+1)
		if now.Before(w.begin) {
			w.begin, w.end = w.reset(local.Year(), local.Month(), local.Day()-1), w.begin
		}
	case Month:
		w.begin, w.end = w.reset(local.Year(), local.Month(), 1), w.reset(local.Year(), local.Month()+1, 1)
		if now.Before(w.begin) {
			w.begin, w.end = w.reset(local.Year(), local.Month()-1, 1), w.begin
		}
	}
}

// reset is the moment of a date at which a day or month begins.
func (w *window) reset(year int, month time.Month, day int) time.Time {
	return time.Date(year, month, day, int(w.resetAt/time.Hour), int(w.resetAt%time.Hour/time.Minute), 0, 0, w.zone)
}

func (w *window) ready(now time.Time, n int64) time.Time {
	w.roll(now)
	switch {
	case n > w.Amount:
		return time.Time{}
	case n <= w.Amount-w.used:
		return now
	default:
		return w.end
	}
}

func (w *window) take(now time.Time, n int64) {
	w.roll(now)
	w.used = min(w.Amount, w.used+n)
}

func (w *window) release(int64) {}

func (w *window) left(now time.Time) (int64, time.Time) {
	w.roll(now)
	return w.Amount - w.used, w.end
}
