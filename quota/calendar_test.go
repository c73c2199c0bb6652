package quota

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestCalendar: days and months begin by the clock of the zone, also when the
// clocks change.
func TestCalendar(t *testing.T) {
	for name, c := range map[string]struct {
		limit          enrich.Limit
		at, start, end string
	}{
		"aligned minute": {
			enrich.Limit{Window: time.Minute},
			"2026-03-01T10:20:30Z", "2026-03-01T10:20:00Z", "2026-03-01T10:21:00Z",
		},
		"the edge belongs to the new window": {
			enrich.Limit{Window: time.Minute},
			"2026-03-01T10:21:00Z", "2026-03-01T10:21:00Z", "2026-03-01T10:22:00Z",
		},
		"a week is aligned to 1970": {
			enrich.Limit{Window: 7 * 24 * time.Hour},
			"1970-01-09T00:00:00Z", "1970-01-08T00:00:00Z", "1970-01-15T00:00:00Z",
		},
		"day in New York": {
			enrich.Limit{Calendar: "day", Zone: "America/New_York"},
			"2026-07-01T03:00:00Z", "2026-06-30T04:00:00Z", "2026-07-01T04:00:00Z",
		},
		"before the reset it is yesterday": {
			enrich.Limit{Calendar: "day", Zone: "Europe/Berlin", ResetAt: "06:00"},
			"2026-07-01T03:59:59Z", "2026-06-30T04:00:00Z", "2026-07-01T04:00:00Z",
		},
		"the day of 23 hours": {
			enrich.Limit{Calendar: "day", Zone: "Europe/Berlin"},
			"2026-03-29T12:00:00Z", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z",
		},
		"the day of 25 hours": {
			enrich.Limit{Calendar: "day", Zone: "Europe/Berlin"},
			"2026-10-25T12:00:00Z", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z",
		},
		"a reset in the hour that does not exist": {
			enrich.Limit{Calendar: "day", Zone: "Europe/Berlin", ResetAt: "02:30"},
			"2026-03-29T12:00:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z",
		},
		"February": {
			enrich.Limit{Calendar: "month"},
			"2026-02-28T23:59:59Z", "2026-02-01T00:00:00Z", "2026-03-01T00:00:00Z",
		},
		"a month that begins at noon": {
			enrich.Limit{Calendar: "month", ResetAt: "12:00"},
			"2026-03-01T11:00:00Z", "2026-02-01T12:00:00Z", "2026-03-01T12:00:00Z",
		},
		"December ends in another year": {
			enrich.Limit{Calendar: "month", Zone: "Asia/Tokyo"},
			"2026-12-31T14:59:59Z", "2026-11-30T15:00:00Z", "2026-12-31T15:00:00Z",
		},
	} {
		t.Run(name, func(t *testing.T) {
			times, err := readCalendar(c.limit)
			if err != nil {
				t.Fatal(err)
			}
			start, end := times.around(instant(t, c.at))
			if !start.Equal(instant(t, c.start)) || !end.Equal(instant(t, c.end)) {
				t.Errorf("got %s to %s, want %s to %s", start.UTC(), end.UTC(), c.start, c.end)
			}
		})
	}
}

// TestWindowsNeverOverlap: whatever the zone does, each window begins where the
// one before ended, and holds the instant it was asked for.
func TestWindowsNeverOverlap(t *testing.T) {
	for _, zone := range []string{"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "UTC"} {
		for _, reset := range []string{"00:00", "02:30", "23:59"} {
			times, err := readCalendar(enrich.Limit{Calendar: "day", Zone: zone, ResetAt: reset})
			if err != nil {
				t.Fatal(err)
			}
			at := instant(t, "2011-01-01T00:00:00Z")
			_, edge := times.around(at)
			for at.Year() < 2028 {
				at = at.Add(5 * time.Hour)
				start, end := times.around(at)
				if at.Before(start) || !at.Before(end) {
					t.Fatalf("%s %s: %s is not in %s to %s", zone, reset, at, start, end)
				}
				if !at.Before(edge) && !start.Equal(edge) {
					t.Fatalf("%s %s: a window begins at %s, the one before ended at %s", zone, reset, start, edge)
				}
				edge = end
			}
		}
	}
}

// TestAClockPutBackRefillsNothing, and stops nothing for longer than a window.
func TestAClockPutBackRefillsNothing(t *testing.T) {
	for _, back := range []time.Duration{time.Second, 30 * time.Second, time.Hour, 1000 * time.Hour} {
		rules, problems := compile([]enrich.Limit{{Name: "minute", Shape: enrich.FixedWindow, Amount: 10, Window: time.Minute}})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		now := instant(t, "2026-03-01T10:20:30Z")
		window := newFixed(now, rules[0], 0)
		d := demand{urgent: true, waiting: 1}
		for range 10 {
			if at, _ := window.ready(now, 1, d); at.After(now) {
				t.Fatal("the window is not free")
			}
			window.take(now, 1, d)
		}
		now = now.Add(-back)
		at, _ := window.ready(now, 1, d)
		if !at.After(now) {
			t.Errorf("put back by %s, the clock refilled the window", back)
		}
		if at.Sub(now) > 2*time.Minute {
			t.Errorf("put back by %s, the clock stops the window for %s", back, at.Sub(now))
		}
	}
}
