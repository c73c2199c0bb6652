package fakevendor

import (
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// isoUTC is an ISO-8601 instant in UTC, milliseconds rounded up.
func isoUTC(at time.Time) string {
	return at.Add(time.Millisecond - time.Nanosecond).UTC().Format("2006-01-02T15:04:05.000Z")
}

// joined puts the parts that are known into one text.
func joined(parts ...string) string {
	var known []string
	for _, part := range parts {
		if part != "" {
			known = append(known, part)
		}
	}
	return strings.Join(known, ", ")
}

// moneyRange spells a range of dollars as vendors print it: "$10M-$50M".
func moneyRange(name string) string {
	for _, r := range truth.Revenues {
		if r.Name != name {
			continue
		}
		if r.To == 0 {
			return "$" + shortNumber(r.From) + "+"
		}
		return "$" + shortNumber(r.From) + "-$" + shortNumber(r.To)
	}
	return ""
}

// shortNumber is a number with its suffix: 10M.
func shortNumber(n int64) string {
	switch {
	case n >= 1_000_000_000:
		return strconv.FormatInt(n/1_000_000_000, 10) + "B"
	case n >= 1_000_000:
		return strconv.FormatInt(n/1_000_000, 10) + "M"
	case n >= 1000:
		return strconv.FormatInt(n/1000, 10) + "K"
	}
	return strconv.FormatInt(n, 10)
}

// orStatus is the status a fault asked for, or the vendor's own.
func orStatus(asked, own int) int {
	if asked == 0 {
		return own
	}
	return asked
}
