package forms

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

func TestHeadcounts(t *testing.T) {
	check(t, "company.employee_count", Context{},
		ok(120, "120"), ok(120.0, "120"), ok("120", "120"), ok("1,234", "1234"), ok("12.0", "12"), ok(" 7 ", "7"),
		not(0, Empty), not("0", Empty), not(nil, Empty), not(-3, Wrong), not(math.NaN(), Wrong), not(math.Inf(1), Wrong), not(12.5, Wrong),
		not(10_000_001, Wrong), not("51-200", Wrong), not("lots", Wrong), not("1e5", Wrong), not(json.Number("99999999999999999999"), Wrong),
	)
}

func TestEmployeeRanges(t *testing.T) {
	check(t, "company.employee_range", Context{},
		ok("1-10", "1-10"), ok("11-50", "11-50"), ok("51-200", "51-200"), ok("10001+", "10001+"), ok("1000+", "501-1000"), ok("1,001 - 5,000", "1001-5000"),
		ok("51-250", "51-200"), ok("1K-5K", "501-1000"), ok("10K-50K", "5001-10000"), ok("100001+", "10001+"), ok("10001 - 100000", "10001+"),
		ok("501-1000 employees", "501-1000"), ok("11 to 50", "11-50"), ok("<10", "1-10"), ok("more than 10,000", "5001-10000"),
		ok("120", "51-200"), ok(120, "51-200"), ok([]any{51, 200}, "51-200"), ok([]any{10001, nil}, "10001+"), ok("251-1K", "201-500"),
		not([]any{nil, 50}, Masked),
		ok("c_00011_00050", "11-50"), ok("c_10001_max", "10001+"), ok([]any{"11", "50"}, "11-50"),
		not(nil, Empty), not("", Empty), not("0", Empty), not([]any{0, 0}, Empty), not("big", Wrong), not("200-51", Wrong), not([]any{1, 2, 3}, Wrong),
		not("-5", Wrong), not([]any{-1, 10}, Wrong), not("51-many", Wrong),
	)
	for people, want := range map[int64]string{1: "1-10", 10: "1-10", 11: "11-50", 200: "51-200", 1001: "1001-5000", 10000: "5001-10000", 10001: "10001+"} {
		if got := EmployeeRange(people).Text(); got != want {
			t.Errorf("%d people are in %s, want %s", people, got, want)
		}
	}
}

func TestYears(t *testing.T) {
	check(t, "company.founded_year", Context{},
		ok(1990, "1990"), ok("1990", "1990"), ok(1990.0, "1990"), ok("2015-04-01", "2015"), ok("2015-04-01T00:00:00Z", "2015"), ok(2026, "2026"), ok("2015-04", "2015"),
		not(0, Empty), not("0", Empty), not(2027, Wrong), not(999, Wrong), not("90", Wrong), not("about 1990", Wrong), not("1990-abc", Wrong),
	)
}

func TestRevenue(t *testing.T) {
	check(t, "company.annual_revenue_usd", Context{Currency: "USD"},
		ok("1.5M", "1500000"), ok("$1.5M", "1500000"), ok("$1,500,000", "1500000"), ok(1500000.0, "1500000"), ok(1500000, "1500000"), ok("1500000", "1500000"),
		ok("US$2 billion", "2000000000"), ok("3bn", "3000000000"), ok("250K", "250000"), ok("5 million USD", "5000000"), ok("USD 100", "100"),
		not("€1.5M", Wrong), not("1.5M EUR", Wrong), not("£3m", Wrong), not("CAD 5M", Wrong), not("$1M-$10M", Wrong), not([]any{1, 2}, Wrong),
		not(-5, Wrong), not(0, Empty), not("0", Empty), not("much", Wrong), not(1e15, Wrong), not("C$5M", Wrong), not("1.500.000", Wrong),
	)
	check(t, "company.annual_revenue_usd", Context{}, ok("$1.5M", "1500000"), not("1.5M", Wrong), not(1500000, Wrong))
	check(t, "company.revenue_range", Context{Currency: "USD"},
		ok("$1M-$10M", "1000000-10000000"), ok("$1B+", "1000000000+"), ok([]any{1000000, 10000000}, "1000000-10000000"), ok("1M to 10M", "1000000-10000000"),
		ok("$1-10M", "1000000-10000000"), ok("$0-$1M", "0-1000000"), ok("<$1M", "0-1000000"), ok([]any{1000000000, nil}, "1000000000+"), ok("over $1B", "1000000000+"),
		ok("$500-1M", "500-1000000"), ok("$1-1.5M", "1000000-1500000"), not([]any{nil, 10000000}, Masked),
		ok("1,000,000 - 10,000,000", "1000000-10000000"), ok("$500K-$1M", "500000-1000000"), ok("$1M - $10M USD", "1000000-10000000"),
		not("€1M-€10M", Wrong), not("€1M-10M", Wrong), not("$1M-€10M", Wrong), not("1M-10M EUR", Wrong), not("$10M-$1M", Wrong), not("$1.5M", Wrong), not(5, Wrong), not([]any{0, 0}, Empty), not(nil, Empty), not("0", Empty), not([]any{}, Empty),
	)
	check(t, "company.revenue_range", Context{},
		ok("$1M-10M", "1000000-10000000"), ok("$1-10M", "1000000-10000000"), ok("1M-10M USD", "1000000-10000000"), not("1M-10M", Wrong), not([]any{1000000, 10000000}, Wrong))
}

func TestWords(t *testing.T) {
	check(t, "person.seniority", Context{},
		ok("VP", "vp"), ok("Vice President", "vp"), ok("vice_president", "vp"), ok("C-Suite", "c_suite"), ok("c level", "c_suite"), ok("Founder/Owner", "founder"),
		ok("Entry Level", "entry"), not("Non-Manager", Absent), not("unpaid", Absent), not("galactic", Wrong), not("", Empty), not("n/a", Empty), not("Unknown", Empty),
	)
	check(t, "person.department", Context{}, ok("Engineering & Technical", "engineering"), ok("Human Resources", "hr"), ok("information_technology", "it"), ok("R&D", "engineering"), not("C-Suite", Absent), not("Alchemy", Wrong))
	check(t, "person.email_status", Context{}, ok("valid", "valid"), ok("catch-all", "accept_all"), ok("unknown", "unknown"), not("fine", Wrong))

	own := NewVocabulary(false, "master_")
	for _, row := range [][2]string{{"invalid@*", "invalid"}, {"*@disposable", "disposable"}, {"nominative@*", "valid"}, {"marketing", "role"}, {"true", "valid"}, {"do_not_mail", ""}} {
		own.Add(row[0], row[1])
	}
	check(t, "person.email_status", Context{Words: own},
		ok("nominative@pro", "valid"), ok("nominative@disposable", "disposable"), ok("invalid@disposable", "invalid"), ok("master_marketing", "role"),
		ok(true, "valid"), not(false, Masked), not("do not mail", Absent), not("valid", Wrong))
	also := NewVocabulary(true, "")
	also.Add("boss", "head")
	check(t, "person.seniority", Context{Words: also}, ok("Boss", "head"), ok("Director", "director"), not("galactic", Wrong))
}

func TestLists(t *testing.T) {
	collect := func(raw ...any) (string, Verdict) {
		var list List
		for _, one := range raw {
			list.Add(one)
		}
		value, verdict := list.Value()
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded), verdict
	}
	for _, test := range []struct {
		raw     []any
		want    string
		verdict Verdict
	}{
		{[]any{"Redis", "Go", "redis", " "}, `["go","redis"]`, OK},
		{[]any{[]any{"Go", map[string]any{"name": "Redis"}}}, `["go","redis"]`, OK},
		{[]any{map[string]any{"name": "Go"}, map[string]any{"title": "x"}}, `["go"]`, OK},
		{[]any{map[string]any{"title": "x"}}, `null`, Wrong},
		{[]any{7}, `null`, Wrong},
		{[]any{true}, `null`, Masked},
		{[]any{"R***s", "***"}, `null`, Masked},
		{[]any{"Go", "R***s"}, `null`, Masked},
		{[]any{"Go", "[object Object]", "0x"}, `["0x","go"]`, OK},
		{[]any{"<b>"}, `null`, Wrong},
		{[]any{nil, "n/a"}, `null`, Empty},
		{nil, `null`, Empty},
	} {
		if got, verdict := collect(test.raw...); got != test.want || verdict != test.verdict {
			t.Errorf("%v: %s, verdict %d; want %s, verdict %d", test.raw, got, verdict, test.want, test.verdict)
		}
	}
}

func TestCommonWordsMeanWordsOfTheContract(t *testing.T) {
	for a, words := range common {
		spec, _ := enrich.SpecOf(a)
		known := map[string]bool{"": true}
		for _, word := range spec.Words {
			known[word] = true
		}
		for theirs, ours := range words {
			if !known[ours] {
				t.Errorf("%s: %q means %q, which is no word of the contract", a, theirs, ours)
			}
		}
	}
}
