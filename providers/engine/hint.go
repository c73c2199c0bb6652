package engine

import (
	"math"
	"math/big"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// hint is where a vendor says how long to wait, and how it writes it.
type hint struct {
	header  string
	path    *Path
	pattern *regexp.Regexp // of the body's text; its group is the hint
	unit    hintUnit
	// exhausted is the header that must be 0 for this hint to count.
	exhausted string
	on        []enrich.Outcome
}

// hintUnit is how a hint is written. Names of headers decide nothing: the same
// name is a delay at one vendor and an instant at the next.
type hintUnit string

const (
	inSeconds      hintUnit = "s"
	inMillis       hintUnit = "ms"
	inMinutes      hintUnit = "min"
	asText         hintUnit = "text" // "30 seconds", "1h30m"; a bare number is seconds
	atHTTPDate     hintUnit = "http_date"
	atISO8601      hintUnit = "iso8601"
	atEpochSeconds hintUnit = "epoch_s"
	atEpochMillis  hintUnit = "epoch_ms"
	guessed        hintUnit = "auto" // by form and size, where nobody knows
)

var hintUnits = []string{"s", "ms", "min", "text", "http_date", "iso8601", "epoch_s", "epoch_ms", "auto"}

// hintedOutcomes are those that a hint is read for.
var hintedOutcomes = []enrich.Outcome{enrich.RateLimited, enrich.Pending, enrich.Blocked, enrich.QuotaExhausted, enrich.Temporary}

// standardHint is read when the definition's own hints say nothing: the header
// of RFC 9110.
var standardHint = hint{header: "Retry-After", unit: guessed}

// waitOf returns the vendor's hint for the outcome, at most longest, or nil. A
// header goes before a field of the body and that before a text; of several
// windows the longest among the exhausted ones counts.
func waitOf(hints []hint, a *Answer, s *Scope, outcome enrich.Outcome, longest time.Duration) *time.Duration {
	var best *time.Duration
	for _, hint := range hints {
		if hint.exhausted == "" || !hint.isFor(outcome) || !isZero(a.Header, hint.exhausted) {
			continue
		}
		if wait, ok := hint.read(a, s); ok && (best == nil || wait > *best) {
			best = &wait
		}
	}
	if best == nil {
		best = firstWait(hints, a, s, outcome)
	}
	if best == nil {
		if wait, ok := standardHint.read(a, s); ok {
			best = &wait
		}
	}
	if best != nil {
		*best = min(*best, longest)
	}
	return best
}

func firstWait(hints []hint, a *Answer, s *Scope, outcome enrich.Outcome) *time.Duration {
	for _, place := range []func(hint) bool{
		func(h hint) bool { return h.header != "" },
		func(h hint) bool { return h.path != nil },
		func(h hint) bool { return h.pattern != nil },
	} {
		for _, hint := range hints {
			if hint.exhausted != "" || !place(hint) || !hint.isFor(outcome) {
				continue
			}
			if wait, ok := hint.read(a, s); ok {
				return &wait
			}
		}
	}
	return nil
}

func (h hint) isFor(outcome enrich.Outcome) bool {
	for _, on := range h.on {
		if on == outcome {
			return true
		}
	}
	return len(h.on) == 0
}

func isZero(header http.Header, name string) bool {
	number, ok := decimal(header.Get(name))
	return ok && number.Sign() <= 0
}

// read reads the hint. A header sent twice counts with its longer wait.
func (h hint) read(a *Answer, s *Scope) (wait time.Duration, ok bool) {
	var texts []string
	switch {
	case h.header != "":
		texts = a.Header.Values(h.header)
	case h.path != nil:
		texts = []string{h.path.textOf(a.body, s)}
	default:
		if match := h.pattern.FindStringSubmatch(a.text); match != nil {
			texts = match[1:]
		}
	}
	for _, text := range texts {
		if one, readable := parseWait(text, h.unit, s.Now); readable {
			wait, ok = max(wait, one), true
		}
	}
	return wait, ok
}

// parseWait reads one hint: never negative, saturating, rounded up to the
// millisecond. What cannot be read is no hint.
func parseWait(text string, unit hintUnit, now time.Time) (time.Duration, bool) {
	text = strings.TrimSpace(text)
	switch unit {
	case inSeconds:
		return delay(text, 1000)
	case inMillis:
		return delay(text, 1)
	case inMinutes:
		return delay(text, 60_000)
	case asText:
		return waitInText(text)
	case atEpochSeconds:
		return untilEpoch(text, 1000, now)
	case atEpochMillis:
		return untilEpoch(text, 1, now)
	case atHTTPDate:
		return untilHTTPDate(text, now)
	case atISO8601:
		return untilISO8601(text, now)
	default:
		return guessWait(text, now)
	}
}

// guessWait reads a hint of unknown form: a number by its size, or a date.
func guessWait(text string, now time.Time) (time.Duration, bool) {
	if number, ok := decimal(text); ok {
		switch {
		case number.Cmp(big.NewRat(1e12, 1)) >= 0 && len(text) < 20:
			return untilEpoch(text, 1, now)
		case number.Cmp(big.NewRat(1e9, 1)) >= 0 && len(text) < 20:
			return untilEpoch(text, 1000, now)
		default:
			return delay(text, 1000)
		}
	}
	if wait, ok := untilHTTPDate(text, now); ok {
		return wait, true
	}
	return untilISO8601(text, now)
}

// plainDecimal is what a number in a hint looks like. Its length is bounded so
// that arithmetic on it is.
var plainDecimal = regexp.MustCompile(`^-?[0-9]{1,40}(?:\.[0-9]{1,40})?$`)

func decimal(text string) (*big.Rat, bool) {
	text = strings.TrimSpace(text)
	if !plainDecimal.MatchString(text) {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// delay reads a number of units of so many milliseconds.
func delay(text string, millis int64) (time.Duration, bool) {
	number, ok := decimal(text)
	if !ok {
		return 0, false
	}
	return saturated(number.Mul(number, big.NewRat(millis, 1))), true
}

// untilEpoch reads an instant as units since 1970.
func untilEpoch(text string, millis int64, now time.Time) (time.Duration, bool) {
	number, ok := decimal(text)
	if !ok {
		return 0, false
	}
	number.Mul(number, big.NewRat(millis, 1))
	passed := big.NewRat(now.UnixNano(), int64(time.Millisecond))
	return saturated(number.Sub(number, passed)), true
}

// saturated turns milliseconds into a duration, rounding up.
func saturated(millis *big.Rat) time.Duration {
	if millis.Sign() <= 0 {
		return 0
	}
	whole := new(big.Int).Add(millis.Num(), new(big.Int).Sub(millis.Denom(), big.NewInt(1)))
	whole.Quo(whole, millis.Denom())
	if !whole.IsInt64() || whole.Int64() > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(whole.Int64()) * time.Millisecond
}

func untilHTTPDate(text string, now time.Time) (time.Duration, bool) {
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false
	}
	return until(at, now), true
}

// isoLayouts are the spellings of ISO 8601 that occur; a fraction of a second
// is accepted in all of them. Without a zone it is UTC.
var isoLayouts = []string{
	time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04Z07:00", "2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 Z07:00", "2006-01-02 15:04:05", "2006-01-02 15:04:05 MST", "2006-01-02",
}

func untilISO8601(text string, now time.Time) (time.Duration, bool) {
	const longest = 64
	if len(text) > longest {
		return 0, false
	}
	for _, layout := range isoLayouts {
		if at, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return until(at, now), true
		}
	}
	return 0, false
}

// until is the time left, rounded up to the millisecond.
func until(at, now time.Time) time.Duration {
	left := at.Sub(now)
	if left > math.MaxInt64-time.Millisecond {
		return left
	}
	return max(left+time.Millisecond-1, 0).Truncate(time.Millisecond)
}

// textUnits are the words for units of time, in milliseconds.
var textUnits = map[string]int64{
	"ms": 1, "msec": 1, "millisecond": 1, "milliseconds": 1,
	"s": 1000, "sec": 1000, "secs": 1000, "second": 1000, "seconds": 1000,
	"m": 60_000, "min": 60_000, "mins": 60_000, "minute": 60_000, "minutes": 60_000,
	"h": 3_600_000, "hr": 3_600_000, "hrs": 3_600_000, "hour": 3_600_000, "hours": 3_600_000,
	"d": 86_400_000, "day": 86_400_000, "days": 86_400_000,
}

var textPiece = regexp.MustCompile(`([0-9]{1,20}(?:\.[0-9]{1,20})?)\s*([A-Za-z]+)`)

// waitInText finds the first delay in a text: pieces such as "1h", "30m" or "5
// minutes" that follow each other.
func waitInText(text string) (time.Duration, bool) {
	const longest = 2000
	if len(text) > longest {
		text = text[:longest]
	}
	if wait, ok := delay(text, 1000); ok {
		return wait, true
	}
	var wait time.Duration
	end := -1
	for _, piece := range textPiece.FindAllStringSubmatchIndex(text, -1) {
		millis, known := textUnits[strings.ToLower(text[piece[4]:piece[5]])]
		if end >= 0 && (!known || !joins(text[end:piece[0]])) {
			break
		}
		if !known {
			continue
		}
		one, _ := delay(text[piece[2]:piece[3]], millis)
		if wait > math.MaxInt64-one {
			return math.MaxInt64, true
		}
		wait, end = wait+one, piece[1]
	}
	return wait, end >= 0
}

// joins tells whether the text between two pieces makes them one delay.
func joins(between string) bool {
	between = strings.Trim(between, " ,")
	return between == "" || strings.EqualFold(between, "and")
}

// hints reads the list under "waits".
func (r *reader) hints(node ast.Node) []hint {
	var hints []hint
	for _, item := range r.items(node) {
		var h hint
		r.fields(item, map[string]func(ast.Node){
			"header": func(n ast.Node) { h.header = r.header(n) },
			"body":   func(n ast.Node) { path := r.path(n); h.path = &path },
			"text": func(n ast.Node) {
				if h.pattern = r.pattern(n); h.pattern != nil && h.pattern.NumSubexp() != 1 {
					r.problem(n, "the pattern needs one group, which is the hint")
					h.pattern = nil
				}
			},
			"unit":      func(n ast.Node) { h.unit = hintUnit(r.oneOf(n, hintUnits...)) },
			"exhausted": func(n ast.Node) { h.exhausted = r.header(n) },
			"on":        func(n ast.Node) { h.on = r.outcomes(n, hintedOutcomes) },
		})
		places := 0
		for _, given := range []bool{h.header != "", h.path != nil, h.pattern != nil} {
			if given {
				places++
			}
		}
		switch {
		case places != 1:
			r.problem(item, "a hint stands in one place: header, body or text")
		case h.unit == "":
			r.problem(item, "a hint needs a unit: %s", strings.Join(hintUnits, ", "))
		default:
			hints = append(hints, h)
		}
	}
	return hints
}
