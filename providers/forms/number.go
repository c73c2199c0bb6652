package forms

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Bounds of what is believed.
const (
	maxEmployees = 10_000_000
	firstYear    = 1000
	maxDollars   = 1e13 // ten times the greatest revenue a company ever had
)

func readNumber(spec enrich.Spec, raw any, context Context) (enrich.Value, Verdict) {
	var number int64
	var verdict Verdict
	switch spec.Shape {
	case enrichv1.Form_FORM_MONEY:
		number, verdict = money(raw, context.Currency)
	case enrichv1.Form_FORM_YEAR:
		number, verdict = year(raw, context.Now.Year())
	default:
		number, verdict = Headcount(raw)
	}
	if verdict != OK {
		return enrich.Value{}, verdict
	}
	return enrich.NumberValue(number), OK
}

// year reads a year, also as the beginning of a date.
func year(raw any, thisYear int) (int64, Verdict) {
	if text, ok := raw.(string); ok {
		if date := datePrefix.FindStringSubmatch(text); date != nil {
			raw = date[1]
		}
	}
	return whole(raw, firstYear, int64(thisYear))
}

var (
	datePrefix = regexp.MustCompile(`^\s*(\d{4})-\d{2}(?:-\d{2})?(?:[T ]|\s*$)`)
	plainCount = regexp.MustCompile(`^[+-]?(?:\d+|\d{1,3}(?:[, ]\d{3})+)(?:\.0+)?$`)
)

// ungrouped takes the marks out that group digits.
var ungrouped = strings.NewReplacer(",", "", " ", "")

// whole reads a whole number between two bounds; 0 says nothing.
func whole(raw any, least, most int64) (int64, Verdict) {
	var number float64
	switch raw := raw.(type) {
	case int:
		number = float64(raw)
	case float64:
		number = raw
	case json.Number:
		return 0, Wrong // beyond 64 bits
	case string:
		text := strings.TrimSpace(raw)
		switch {
		case isEmptyText(text):
			return 0, Empty
		case isMasked(text):
			return 0, Masked
		case !plainCount.MatchString(text):
			return 0, Wrong
		}
		parsed, err := strconv.ParseFloat(ungrouped.Replace(text), 64)
		if err != nil {
			return 0, Wrong
		}
		number = parsed
	default:
		return 0, verdictOfNonText(raw)
	}
	switch {
	case number == 0:
		return 0, Empty
	case number != math.Trunc(number), number < float64(least), number > float64(most): // NaN is not its own whole part
		return 0, Wrong
	default:
		return int64(number), OK
	}
}
