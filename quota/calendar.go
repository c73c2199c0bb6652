package quota

import (
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// The words of Limit.Calendar.
const (
	calendarDay   = "day"
	calendarMonth = "month"
)

// calendar says in which fixed window an instant lies. A window without a
// calendar is aligned to multiples of its length since 1970.
type calendar struct {
	every  time.Duration
	period string
	zone   *time.Location
	hour   int
	minute int
}

// readCalendar reads the times of a limit.
func readCalendar(limit enrich.Limit) (calendar, error) {
	c := calendar{every: limit.Window, period: limit.Calendar, zone: time.UTC}
	switch limit.Calendar {
	case "", calendarDay, calendarMonth:
	default:
		return c, fmt.Errorf("calendar: %q is neither day nor month", limit.Calendar)
	}
	zone, err := time.LoadLocation(limit.Zone)
	if err != nil || limit.Zone == "Local" {
		return c, fmt.Errorf("zone: %q is not a time zone", limit.Zone)
	}
	c.zone = zone
	if limit.ResetAt != "" {
		at, err := time.Parse("15:04", limit.ResetAt)
		if err != nil {
			return c, fmt.Errorf("reset_at: %q is not a time of day such as 00:00", limit.ResetAt)
		}
		c.hour, c.minute = at.Hour(), at.Minute()
	}
	return c, nil
}

// around returns the window that holds t: from start, before end. Days and
// months begin by the clock of the zone, so that a day may have 23 or 25 hours.
func (c calendar) around(t time.Time) (start, end time.Time) {
	if c.period == "" {
		// Truncate counts from the year 1, the vendors count from 1970.
		since := t.UnixNano() % int64(c.every)
		start = t.Round(0).Add(-time.Duration(since))
		return start, start.Add(c.every)
	}
	local := t.In(c.zone)
	year, month, day := local.Date()
	if c.period == calendarMonth {
		day = 1
	}
	for offset := 1; ; offset-- {
		start, end = c.begin(year, month, day, offset), c.begin(year, month, day, offset+1)
		if !start.After(t) {
			return start, end
		}
	}
}

// begin is the beginning of the period that lies offset periods after the date.
func (c calendar) begin(year int, month time.Month, day, offset int) time.Time {
	if c.period == calendarMonth {
		return time.Date(year, month+time.Month(offset), day, c.hour, c.minute, 0, 0, c.zone)
	}
	return time.Date(year, month, day+offset, c.hour, c.minute, 0, 0, c.zone)
}
