package fakevendor

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Hint is how a refusal says when to come back.
type Hint struct {
	// Form is dialect (the default: where and how the real vendor says it), or
	// a Retry-After header instead of that: seconds, http_date, rfc850,
	// asctime, or one of no use: absent, zero, negative, fraction, past, huge,
	// garbage, empty.
	Form string `yaml:"form"`
	// WrongBy is added to the true wait before it is said; negative: the
	// vendor calls back too early.
	WrongBy time.Duration `yaml:"wrong_by"`
}

var hintForms = []string{
	"", "dialect", "seconds", "http_date", "rfc850", "asctime",
	"absent", "zero", "negative", "fraction", "past", "huge", "garbage", "empty",
}

func (h Hint) validate() error {
	if !slices.Contains(hintForms, h.Form) {
		return fmt.Errorf("hint.form: %q is none of %v", h.Form, hintForms[1:])
	}
	return nil
}

// spoken tells whether the dialect gives its own hint.
func (h Hint) spoken() bool { return h.Form == "" || h.Form == "dialect" }

// retryAfter is the header's value for a wait until ready, and whether there is
// one. Whole seconds are rounded up: a hint that is meant well is never early.
func (h Hint) retryAfter(now, ready time.Time) (string, bool) {
	wait := max(0, ready.Sub(now))
	at := now.Add(wait).UTC()
	if at.Nanosecond() > 0 {
		at = at.Truncate(time.Second).Add(time.Second)
	}
	switch h.Form {
	case "seconds":
		return strconv.FormatInt(wholeSeconds(wait), 10), true
	case "http_date":
		return at.Format(http.TimeFormat), true
	case "rfc850":
		return at.Format("Monday, 02-Jan-06 15:04:05 GMT"), true
	case "asctime":
		return at.Format(time.ANSIC), true
	case "zero":
		return "0", true
	case "negative":
		return "-30", true
	case "fraction":
		return strconv.FormatFloat(wait.Seconds(), 'f', 3, 64), true
	case "past":
		return now.Add(-time.Hour).UTC().Format(http.TimeFormat), true
	case "huge":
		return "99999999999999999999", true
	case "garbage":
		return "soon", true
	case "empty":
		return "", true
	}
	return "", false
}

// wholeSeconds rounds up.
func wholeSeconds(wait time.Duration) int64 {
	return int64((max(0, wait) + time.Second - 1) / time.Second)
}
