package forms

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

const employeeRange enrich.Attribute = "company.employee_range"

// rangeEnds are the greatest numbers of people of our ranges, the last being
// open, and rangeWords the ranges.
var (
	rangeEnds  = []int64{10, 50, 200, 500, 1000, 5000, 10000}
	rangeWords = func() []string {
		spec, _ := enrich.SpecOf(employeeRange)
		return spec.Words
	}()
)

// EmployeeRange returns the range that holds a number of people.
func EmployeeRange(people int64) enrich.Value {
	for i, end := range rangeEnds {
		if people <= end {
			return enrich.WordValue(rangeWords[i])
		}
	}
	return enrich.WordValue(rangeWords[len(rangeEnds)])
}

// Headcount reads an exact number of people. A range is not one.
func Headcount(raw any) (int64, Verdict) {
	return whole(raw, 1, maxEmployees)
}

// readEmployeeRange finds our range that holds the lower bound of the vendor's
// range, or its number.
func readEmployeeRange(raw any) (enrich.Value, Verdict) {
	ends, verdict := spanOf(raw)
	if verdict != OK {
		return enrich.Value{}, verdict
	}
	low, verdict := people(ends.sharedSuffix())
	switch {
	case verdict == Empty && ends.kind != closed:
		return enrich.Value{}, Empty
	case verdict != OK && verdict != Empty:
		return enrich.Value{}, verdict
	}
	if ends.kind == closed {
		switch high, verdict := people(ends.high); {
		case verdict == Empty && low == 0:
			return enrich.Value{}, Empty
		case verdict != OK, high < low:
			return enrich.Value{}, Wrong
		}
	}
	return EmployeeRange(low), OK
}

var countText = regexp.MustCompile(`(?i)^((?:\d{1,3}(?:[, ]\d{3})+|\d+)(?:\.\d+)?)\s*(k|m)?\s*(?:employees?|people)?$`)

// people reads one end of a range of people, with a suffix or noun.
func people(raw any) (int64, Verdict) {
	if text, ok := raw.(string); ok {
		match := countText.FindStringSubmatch(strings.TrimSpace(text))
		if match == nil {
			return 0, Wrong
		}
		number, err := strconv.ParseFloat(ungrouped.Replace(match[1]), 64)
		if err != nil {
			return 0, Wrong
		}
		raw = number * moneySuffix[strings.ToLower(match[2])]
	}
	return Headcount(raw)
}
