package engine

import (
	"math"
	"net/http"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

const noHint = time.Duration(-1)

func TestParseWait(t *testing.T) {
	for _, test := range []struct {
		text string
		unit hintUnit
		want time.Duration
	}{
		{"3", inSeconds, 3 * time.Second},
		{" 3 ", inSeconds, 3 * time.Second},
		{"0", inSeconds, 0},
		{"2.5", inSeconds, 2500 * time.Millisecond},
		{"1.1", inSeconds, 1100 * time.Millisecond},
		{"0.0001", inSeconds, time.Millisecond},
		{"-1", inSeconds, 0},
		{"", inSeconds, noHint},
		{"null", inSeconds, noHint},
		{"soon", inSeconds, noHint},
		{"1e3", inSeconds, noHint},
		{"1,000", inSeconds, noHint},
		{"3s", inSeconds, noHint},
		{"99999999999999999999", inSeconds, math.MaxInt64},
		{"250", inMillis, 250 * time.Millisecond},
		{"0.2", inMillis, time.Millisecond},
		{"1.5", inMinutes, 90 * time.Second},

		{"Sun, 29 Nov 2026 12:00:30 GMT", atHTTPDate, 30 * time.Second},
		{"Sunday, 29-Nov-26 12:00:30 GMT", atHTTPDate, 30 * time.Second},
		{"Sun Nov 29 12:00:30 2026", atHTTPDate, 30 * time.Second},
		{"Sun, 29 Nov 2026 11:59:30 GMT", atHTTPDate, 0},
		{"Fri, 31 Dec 9999 23:59:59 GMT", atHTTPDate, math.MaxInt64},
		{"30", atHTTPDate, noHint},

		{"2026-11-29T12:01:00Z", atISO8601, time.Minute},
		{"2026-11-29T13:01:00+01:00", atISO8601, time.Minute},
		{"2026-11-29T12:01:00", atISO8601, time.Minute},
		{"2026-11-29T12:00:00.0005Z", atISO8601, time.Millisecond},
		{"2026-11-29 12:01:00.250", atISO8601, time.Minute + 250*time.Millisecond},
		{"2026-11-30", atISO8601, 12 * time.Hour},
		{"2026-11-29T11:00:00Z", atISO8601, 0},
		{"9999-12-31T23:59:59Z", atISO8601, math.MaxInt64},
		{"tomorrow", atISO8601, noHint},

		{"1795953630", atEpochSeconds, 30 * time.Second},
		{"1795953630.5", atEpochSeconds, 30*time.Second + 500*time.Millisecond},
		{"1795953630000", atEpochMillis, 30 * time.Second},
		{"0", atEpochSeconds, 0},
		{"99999999999999999999", atEpochSeconds, math.MaxInt64},

		{"30 seconds", asText, 30 * time.Second},
		{"Request not ready yet, try again in 30 seconds", asText, 30 * time.Second},
		{"1m", asText, time.Minute},
		{"1 minute", asText, time.Minute},
		{"45s", asText, 45 * time.Second},
		{"1h30m", asText, 90 * time.Minute},
		{"1 hour and 30 minutes", asText, 90 * time.Minute},
		{"Try again in 1m. Code 7 seconds", asText, time.Minute},
		{"5 errors, retry in 20 sec", asText, 20 * time.Second},
		{"30", asText, 30 * time.Second},
		{"no idea", asText, noHint},
		{"99999999999999999999 days", asText, math.MaxInt64},

		{"2", guessed, 2 * time.Second},
		{"1795953630", guessed, 30 * time.Second},
		{"1795953630000", guessed, 30 * time.Second},
		{"Sun, 29 Nov 2026 12:00:30 GMT", guessed, 30 * time.Second},
		{"2026-11-29T12:00:30Z", guessed, 30 * time.Second},
		{"99999999999999999999", guessed, math.MaxInt64},
	} {
		got, ok := parseWait(test.text, test.unit, noon)
		if !ok {
			got = noHint
		}
		if got != test.want {
			t.Errorf("%q as %s: %v, want %v", test.text, test.unit, got, test.want)
		}
	}
}

func FuzzParseWait(f *testing.F) {
	for _, text := range []string{"3", "-1", "2.5", "99999999999999999999", "Sun, 29 Nov 2026 12:00:30 GMT", "2026-11-29T12:00:00Z", "1h30m", "30 seconds", "", "1e9", "\x00"} {
		f.Add(text, int64(0))
	}
	f.Fuzz(func(t *testing.T, text string, at int64) {
		for _, unit := range hintUnits {
			wait, ok := parseWait(text, hintUnit(unit), time.Unix(at%1e10, 0))
			switch {
			case wait < 0:
				t.Errorf("%q as %s is negative: %v", text, unit, wait)
			case !ok && wait != 0:
				t.Errorf("%q as %s is no hint but %v", text, unit, wait)
			case wait != math.MaxInt64 && wait%time.Millisecond != 0 && wait < math.MaxInt64-time.Second:
				t.Errorf("%q as %s is not in whole milliseconds: %v", text, unit, wait)
			}
		}
	})
}

// answered makes an answer for tests, to a step of a definition without calls.
func answered(status int, header map[string]string, body string) *Answer {
	h := http.Header{}
	for name, value := range header {
		h.Set(name, value)
	}
	return newAnswer(status, h, []byte(body), &Step{call: &Call{definition: &Definition{}}})
}

func TestWaitOf(t *testing.T) {
	path := mustPath(t, "retry.after")
	pattern := mustPattern(t, `wait (\w+)`)
	windows := []hint{
		{header: "X-Minute-Reset", unit: inSeconds, exhausted: "X-Minute-Left"},
		{header: "X-Day-Reset", unit: inSeconds, exhausted: "X-Day-Left"},
	}
	places := []hint{
		{pattern: pattern, unit: asText}, {path: &path, unit: inSeconds}, {header: "X-Wait", unit: inSeconds},
	}
	for _, test := range []struct {
		name   string
		hints  []hint
		header map[string]string
		body   string
		want   time.Duration
	}{
		{"header before body before text", places, map[string]string{"X-Wait": "1"}, `{"retry":{"after":2},"m":"wait 3s"}`, time.Second},
		{"body before text", places, map[string]string{"X-Wait": "soon"}, `{"retry":{"after":2},"m":"wait 3s"}`, 2 * time.Second},
		{"text at last", places, nil, `{"m":"wait 3s"}`, 3 * time.Second},
		{"longest of the exhausted windows", windows, map[string]string{"X-Minute-Reset": "30", "X-Minute-Left": "0", "X-Day-Reset": "3600", "X-Day-Left": "0"}, "{}", time.Hour},
		{"windows with something left do not count", windows, map[string]string{"X-Minute-Reset": "30", "X-Minute-Left": "0", "X-Day-Reset": "3600", "X-Day-Left": "9"}, "{}", 30 * time.Second},
		{"no exhausted window, no hint", windows, map[string]string{"X-Minute-Reset": "30", "X-Minute-Left": "4"}, "{}", noHint},
		{"standard header when nothing is declared", nil, map[string]string{"Retry-After": "2"}, "{}", 2 * time.Second},
		{"standard header as a date", nil, map[string]string{"Retry-After": "Sun, 29 Nov 2026 12:00:05 GMT"}, "{}", 5 * time.Second},
		{"clamped to the longest pause", nil, map[string]string{"Retry-After": "99999999999999999999"}, "{}", 2 * time.Hour},
		{"zero is a hint", nil, map[string]string{"Retry-After": "0"}, "{}", 0},
		{"nothing", places, nil, "{}", noHint},
		{"for another outcome", []hint{{header: "X-Wait", unit: inSeconds, on: []enrich.Outcome{enrich.Pending}}}, map[string]string{"X-Wait": "1"}, "{}", noHint},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := noHint
			if wait := waitOf(test.hints, answered(429, test.header, test.body), &Scope{Now: noon}, enrich.RateLimited, 2*time.Hour); wait != nil {
				got = *wait
			}
			if got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
	twice := answered(429, nil, "{}")
	twice.Header["Retry-After"] = []string{"2", "x", "5"}
	if wait := waitOf(nil, twice, &Scope{Now: noon}, enrich.RateLimited, time.Hour); wait == nil || *wait != 5*time.Second {
		t.Errorf("a header sent twice counts as %v, want the longer", wait)
	}
}
