package truth

import (
	"fmt"
	"math"
	"strings"
)

// The labels of a company's rolls.
var (
	rollSuffix   = of("suffix")
	rollIndustry = of("industry")
	rollSize     = of("size")
	rollWithin   = of("within")
	rollRevenue  = of("revenue")
	rollFounded  = of("founded")
	rollStack    = of("stack")
	rollPlace    = of("place")
	rollPhone    = of("phone")
)

// employeeRanges are the contract's, each from its own to the next lower bound.
var employeeRanges = []struct {
	from int64
	name string
}{
	{1, "1-10"}, {11, "11-50"}, {51, "51-200"}, {201, "201-500"},
	{501, "501-1000"}, {1001, "1001-5000"}, {5001, "5001-10000"}, {10001, "10001+"},
}

// Revenues are the ranges of yearly revenue in whole US dollars, each from its
// own to the next lower bound.
var Revenues = []struct {
	From, To int64 // To is 0 for the open-ended one
	Name     string
}{
	{0, 1_000_000, "0-1000000"},
	{1_000_000, 10_000_000, "1000000-10000000"},
	{10_000_000, 50_000_000, "10000000-50000000"},
	{50_000_000, 100_000_000, "50000000-100000000"},
	{100_000_000, 250_000_000, "100000000-250000000"},
	{250_000_000, 500_000_000, "250000000-500000000"},
	{500_000_000, 1_000_000_000, "500000000-1000000000"},
	{1_000_000_000, 10_000_000_000, "1000000000-10000000000"},
	{10_000_000_000, 0, "10000000000+"},
}

// EmployeeRange returns the contract's range that holds a number of people.
func EmployeeRange(employees int64) string {
	name := ""
	for _, r := range employeeRanges {
		if employees >= r.from {
			name = r.name
		}
	}
	return name
}

// Company returns the truth about the owner of a domain.
func (w World) Company(domain string) Company {
	domain = Fold(domain)
	d := newDice(w.Seed, "company", domain)
	trade := pick(d, rollIndustry, trades)
	place := pick(d, rollPlace, places)
	name := companyName(domain)
	c := Company{
		Name:      name,
		LegalName: name + " " + pick(d, rollSuffix, place.suffixes),
		Domain:    domain,
		Industry:  trade.industry,
		Employees: employees(d),
		Founded:   1920 + d.below(rollFounded, 79), // in the past for every clock, simulated ones too
		LinkedIn:  handle(name),
		Phone:     place.phone(d.roll(rollPhone)),
		Place:     place.Place,
	}
	c.EmployeeRange = EmployeeRange(c.Employees)
	// A revenue of 60 to 260 thousand dollars a head, rounded to thousands.
	c.RevenueUSD = c.Employees * int64(60+d.below(rollRevenue, 200)) * 1000
	for _, r := range Revenues {
		if c.RevenueUSD >= r.From {
			c.RevenueRange = r.Name
		}
	}
	c.Description = fmt.Sprintf("%s offers %s to customers in %s and abroad since %d.", name, trade.offer, place.Country, c.Founded)
	c.Technologies = stack(d)
	return c
}

// employees draws a size: small companies are many, large ones few.
func employees(d dice) int64 {
	share := d.share(rollSize)
	if share > 0.99 {
		return 10_001 + int64(d.below(rollWithin, 90_000))
	}
	return int64(2 * math.Pow(5000, share)) // 2 to 10,000, even on a logarithmic scale
}

// stack draws three to eight technologies, sorted and in lower case.
func stack(d dice) []string {
	bits := d.roll(rollStack)
	want := 3 + int(bits%6)
	var chosen []string
	for i, technology := range technologies {
		left := len(technologies) - i
		need := want - len(chosen)
		if need == 0 {
			break
		}
		bits = mix(bits + 0x9e3779b97f4a7c15)
		if bits%uint64(left) < uint64(need) {
			chosen = append(chosen, technology)
		}
	}
	return chosen
}

// companyName makes a name from a domain: "blue-river.example" is Blue River.
func companyName(domain string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(domain, "www."), ".")
	words := strings.FieldsFunc(first, func(r rune) bool { return r == '-' || r == '_' })
	for i, word := range words {
		words[i] = title(word)
	}
	if len(words) == 0 {
		return "Unnamed"
	}
	return strings.Join(words, " ")
}

// handle makes a LinkedIn handle from a name.
func handle(name string) string { return strings.ReplaceAll(strings.ToLower(name), " ", "-") }
