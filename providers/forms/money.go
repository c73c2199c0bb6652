package forms

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/biter777/countries"
)

// amount matches one amount of money: a sign or code of US dollars, a number
// with or without grouping, a suffix.
var amount = regexp.MustCompile(`(?i)^(?:(us\$|usd|\$)\s*)?((?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)\s*(k|m|mm|mn|mio|b|bn|t|tn|thousand|million|billion|trillion)?\b\.?\s*(usd|us dollars|dollars|\$)?$`)

var moneySuffix = map[string]float64{
	"": 1, "k": 1e3, "thousand": 1e3, "m": 1e6, "mm": 1e6, "mn": 1e6, "mio": 1e6, "million": 1e6,
	"b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12,
}

// sum is an amount of money as a vendor sent it.
type sum struct {
	number  float64
	dollars bool // it has the sign or code of US dollars
	verdict Verdict
}

// money reads an amount as whole US dollars. A bare number counts when currency
// is USD; the sign or code of another currency never does.
func money(raw any, currency string) (int64, Verdict) { return sumOf(raw).in(currency) }

func sumOf(raw any) sum {
	switch raw := raw.(type) {
	case int:
		return sum{number: float64(raw)}
	case float64:
		return sum{number: raw}
	case json.Number:
		return sum{verdict: Wrong}
	case string:
		return sumOfText(foldSpace(raw))
	default:
		return sum{verdict: verdictOfNonText(raw)}
	}
}

func sumOfText(text string) sum {
	switch {
	case isEmptyText(text):
		return sum{verdict: Empty}
	case isMasked(text):
		return sum{verdict: Masked}
	}
	match := amount.FindStringSubmatch(text)
	if match == nil {
		return sum{verdict: Wrong}
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(match[2], ",", ""), 64)
	if err != nil {
		return sum{verdict: Wrong}
	}
	return sum{number: number * moneySuffix[strings.ToLower(match[3])], dollars: match[1] != "" || match[4] != ""}
}

func (s sum) in(currency string) (int64, Verdict) {
	switch {
	case s.verdict != OK:
		return 0, s.verdict
	case s.number == 0:
		return 0, Empty
	case currency != "USD" && !s.dollars, math.IsNaN(s.number), s.number < 0, s.number > maxDollars:
		return 0, Wrong
	default:
		return int64(math.Round(s.number)), OK
	}
}

// moneyRange reads a range of money, such as "$1M-$10M", "$1B+" or an array of
// two numbers, as "1000000-10000000" or "1000000000+".
func moneyRange(raw any, currency string) (string, Verdict) {
	ends, verdict := spanOf(raw)
	if verdict != OK {
		return "", verdict
	}
	low, high := sumOf(ends.sharedSuffix()), sumOf(ends.high)
	if low.dollars || high.dollars {
		currency = "USD" // a sign at one end holds for both
	}
	from, verdict := low.bound(currency)
	if verdict != OK {
		return "", verdict
	}
	switch ends.kind {
	case single:
		return "", emptyIf(from == 0)
	case open:
		if from == 0 {
			return "", Empty
		}
		return strconv.FormatInt(from, 10) + "+", OK
	}
	to, verdict := high.bound(currency)
	switch {
	case verdict != OK:
		return "", verdict
	case to <= from:
		return "", emptyIf(to == 0 && from == 0)
	default:
		return strconv.FormatInt(from, 10) + "-" + strconv.FormatInt(to, 10), OK
	}
}

func emptyIf(empty bool) Verdict {
	if empty {
		return Empty
	}
	return Wrong
}

// bound is one end of a range, where 0 is a number like others.
func (s sum) bound(currency string) (int64, Verdict) {
	number, verdict := s.in(currency)
	if verdict == Empty {
		return 0, OK
	}
	return number, verdict
}

// IsCurrency tells whether the text is a code of ISO 4217.
func IsCurrency(code string) bool {
	currency := countries.CurrencyCodeByName(code)
	return currency != countries.CurrencyUnknown && currency.Alpha() == code
}
