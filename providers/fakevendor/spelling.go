package fakevendor

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// untold are attributes that a vendor may know and not tell, by its dialect: it
// has no word for some values, or tells some only beside others.
var untold = map[string][]string{
	"apollo":         {"person.department", "person.email_status", "person.company_name", "person.company_domain", "company.employee_range"},
	"clearbit":       {"person.department", "person.seniority", "company.employee_range"},
	"dropcontact":    {"person.department", "person.seniority", "company.city"},
	"fullcontact":    {"person.first_name", "person.last_name", "person.company_domain", "company.employee_range"},
	"fullenrich":     {"person.department", "person.seniority"},
	"hunter":         {"person.department", "person.seniority", "person.email_status"},
	"leadmagic":      {"person.full_name", "person.first_name", "person.last_name", "person.title", "person.country", "person.company_name", "person.company_domain", "company.domain", "company.revenue_range"},
	"lusha":          {"person.department", "person.seniority"},
	"peopledatalabs": {"person.department", "person.seniority"},
	"prospeo":        {"person.department", "person.seniority", "person.email_status", "person.company_name", "person.company_domain"},
	"rocketreach":    {"company.employee_range"},
	"zerobounce":     {"person.email_status"},
}

// Untold tells whether a vendor of a dialect may know an attribute of somebody,
// be asked for it and not tell it.
func Untold(dialect, attribute string) bool { return slices.Contains(untold[dialect], attribute) }

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

// firstText is the first text that is not empty.
func firstText(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// oneOrNone is a list of one text, or of none.
func oneOrNone(text string) []string {
	if text == "" {
		return []string{}
	}
	return []string{text}
}

// httpProfile is a LinkedIn address of the older scheme.
func httpProfile(kind, handle string) string {
	if handle == "" {
		return ""
	}
	return "http://www.linkedin.com/" + kind + "/" + handle
}

// httpHost is a web site's address.
func httpHost(domain string) string {
	if domain == "" {
		return ""
	}
	return "http://www." + domain
}

// moneyOrNull is dollars as a number with a decimal point in other hands.
func moneyOrNull(dollars int64) any {
	if dollars == 0 {
		return nil
	}
	return float64(dollars)
}

// printedMoney is dollars in short: 1.5M.
func printedMoney(dollars int64) string {
	if dollars == 0 {
		return ""
	}
	value, suffix := float64(dollars), ""
	for _, step := range []string{"K", "M", "B"} {
		if value < 1000 {
			break
		}
		value, suffix = value/1000, step
	}
	return strconv.FormatFloat(value, 'f', -1, 64) + suffix
}

// www puts www. before a domain.
func www(domain string) string {
	if domain == "" {
		return ""
	}
	return "www." + domain
}

// edges are the bounds of a range of employees ("11-50"); the upper one is 0
// for an open-ended one, both for none.
func edges(name string) (low, high int64) {
	from, to, closed := strings.Cut(strings.TrimSuffix(name, "+"), "-")
	low, err := strconv.ParseInt(from, 10, 64)
	if err != nil {
		return 0, 0
	}
	if closed {
		high, _ = strconv.ParseInt(to, 10, 64)
	}
	return low, high
}
