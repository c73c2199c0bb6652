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

// money reads an amount as whole US dollars. A bare number counts when currency
// is USD; the sign or code of another currency never does.
func money(raw any, currency string) (int64, Verdict) {
	switch raw := raw.(type) {
	case int:
		return dollars(float64(raw), currency)
	case float64:
		return dollars(raw, currency)
	case json.Number:
		return 0, Wrong
	case string:
		return moneyText(raw, currency)
	default:
		return 0, verdictOfNonText(raw)
	}
}

func moneyText(text, currency string) (int64, Verdict) {
	text = foldSpace(text)
	switch {
	case isEmptyText(text):
		return 0, Empty
	case isMasked(text):
		return 0, Masked
	}
	match := amount.FindStringSubmatch(text)
	if match == nil {
		return 0, Wrong
	}
	number, err := strconv.ParseFloat(strings.ReplaceAll(match[2], ",", ""), 64)
	if err != nil {
		return 0, Wrong
	}
	if match[1] != "" || match[4] != "" {
		currency = "USD"
	}
	return dollars(number*moneySuffix[strings.ToLower(match[3])], currency)
}

func dollars(number float64, currency string) (int64, Verdict) {
	switch {
	case number == 0:
		return 0, Empty
	case currency != "USD", math.IsNaN(number), number < 0, number > maxDollars:
		return 0, Wrong
	default:
		return int64(math.Round(number)), OK
	}
}

// moneyRange reads a range of money, such as "$1M-$10M", "$1B+" or an array of
// two numbers, as "1000000-10000000" or "1000000000+".
func moneyRange(raw any, currency string) (string, Verdict) {
	ends, verdict := spanOf(raw)
	if verdict != OK {
		return "", verdict
	}
	if isDollars(ends.low) || isDollars(ends.high) {
		currency = "USD" // a sign at one end holds for both
	}
	from, verdict := bound(ends.sharedSuffix(), currency)
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
	to, verdict := bound(ends.high, currency)
	switch {
	case verdict != OK:
		return "", verdict
	case to <= from:
		return "", emptyIf(to == 0 && from == 0)
	default:
		return strconv.FormatInt(from, 10) + "-" + strconv.FormatInt(to, 10), OK
	}
}

// isDollars tells whether an amount has the sign or code of US dollars.
func isDollars(raw any) bool {
	text, _ := raw.(string)
	match := amount.FindStringSubmatch(foldSpace(text))
	return match != nil && match[1]+match[4] != ""
}

func emptyIf(empty bool) Verdict {
	if empty {
		return Empty
	}
	return Wrong
}

// bound reads one end of a range, where 0 is a number like others.
func bound(raw any, currency string) (int64, Verdict) {
	number, verdict := money(raw, currency)
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
