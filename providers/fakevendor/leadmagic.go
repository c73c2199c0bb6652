package fakevendor

import (
	"net/http"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// leadMagic is the dialect of LeadMagic: an address gives a profile's URL, and
// the URL the profile, two calls and two charges. What its pages leave open is
// taken so: 402 for spent credits, and real LinkedIn hosts. A URL is known once
// it was given out.
var leadMagic = &dialect{
	name:   "leadmagic",
	prefix: "/v1",
	routes: []route{
		{method: "POST", path: "/people/b2b-profile", operation: "person", billed: true, answer: leadMagicURL},
		{method: "POST", path: "/people/profile-search", operation: "profile", billed: true, answer: leadMagicProfile},
		{method: "POST", path: "/people/email-validation", operation: "verify", billed: true, answer: leadMagicValidation},
		{method: "POST", path: "/people/email-finder", operation: "finder", billed: true, answer: leadMagicFinder},
		{method: "POST", path: "/companies/company-search", operation: "company", billed: true, answer: leadMagicCompany},
		{method: "GET", path: "/credits", operation: "account", answer: leadMagicCredits},
	},
	key:      func(c *call) string { return c.request.Header.Get("X-API-Key") },
	refuse:   leadMagicRefuse,
	decorate: func(*call, *answer) {},
	limits:   []strict.Limit{{Name: "minute", Shape: strict.Fixed, Amount: 300, Window: time.Minute}},
	prices:   map[string]int64{"person": 24_500, "profile": 24_500, "verify": 24_500, "finder": 24_500, "company": 24_500},
	data:     Data{Knowledge: truth.Knowledge{Miss: 0.3, Partial: 0.05, Gaps: 0.15}},
}

func leadMagicURL(c *call) answer {
	address := truth.Fold(textOf(c.body, "work_email"))
	if !strings.Contains(address, "@") {
		return c.invalid("work_email is required")
	}
	p, known := c.person(address)
	if known < truth.Thin || p.LinkedIn == "" {
		return leadMagicNothing(enrich.Miss, "Profile not found")
	}
	if !c.pay("person", address, 10*credit, false) {
		return c.spent()
	}
	url := profile("in", p.LinkedIn)
	c.vendor.jobs.put(url, job{subjects: []string{address}, expires: c.now.Add(365 * 24 * time.Hour)})
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK,
		body: object{{"profile_url", url}, {"credits_consumed", 10}, {"message", "Profile found"}}}
}

// leadMagicNothing is a miss: 200 without data, free.
func leadMagicNothing(outcome enrich.Outcome, message string) answer {
	return answer{outcome: outcome, status: http.StatusOK,
		body: object{{"profile_url", nil}, {"full_name", nil}, {"credits_consumed", 0}, {"message", message}}}
}

func leadMagicProfile(c *call) answer {
	url := textOf(c.body, "profile_url")
	if url == "" {
		return c.invalid("profile_url is required")
	}
	state, j := c.vendor.jobs.poll(url, c.now, 0)
	if state == noJob {
		return leadMagicNothing(enrich.Miss, "Profile not found")
	}
	p, known := c.person(j.subjects[0])
	if known < truth.Thin {
		return leadMagicNothing(enrich.Miss, "Profile not found")
	}
	if !c.pay("profile", j.subjects[0], credit, false) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"profile_url", url},
		{"credits_consumed", 1},
		{"first_name", orNull(p.FirstName)},
		{"last_name", orNull(p.LastName)},
		{"full_name", orNull(p.FullName)},
		{"public_identifier", orNull(p.LinkedIn)},
		{"professional_title", orNull(p.Title)},
		{"headline", "Here to help"},
		{"company_name", orNull(p.CompanyName)},
		{"company_website", orNull(p.CompanyDomain)},
		{"company_industry", orNull(p.Employer.Industry)},
		{"company_size", orNull(p.Employer.EmployeeRange)},
		{"company_linkedin_url", orNull(profile("company", p.Employer.LinkedIn))},
		{"location", orNull(joined(p.Place.City, p.Place.Region, p.Place.Country))},
		{"country", orNull(p.Place.Country)},
		{"message", "Profile found"},
	}}
}

func leadMagicCompany(c *call) answer {
	domain := truth.Fold(textOf(c.body, "company_domain"))
	if domain == "" {
		return c.invalid("company_domain is required")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return answer{outcome: enrich.Miss, status: http.StatusOK,
			body: object{{"companyName", nil}, {"credits_consumed", 0}, {"message", "Company not found"}}}
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	if c.chance("style", domain)%4 == 0 {
		return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: leadMagicOlder(company)}
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"companyName", orNull(company.Name)},
		{"employeeCount", numberOrNull(company.Employees)},
		{"employeeRange", orNull(company.EmployeeRange)},
		{"industry", orNull(capitalised(company.Industry))},
		{"description", orNull(company.Description)},
		{"revenue", orNull(moneyRange(company.RevenueRange))},
		{"founded", numberOrNull(company.Founded)},
		{"headquarters", object{
			{"city", orNull(company.Place.City)}, {"state", orNull(company.Place.Region)}, {"country", orNull(company.Place.Country)},
		}},
		{"b2b_profile_url", orNull(profile("company", company.LinkedIn))},
		{"credits_consumed", 1},
		{"message", "Company found"},
	}}
}

// leadMagicOlder is a company in the older style, which some answers still
// have.
func leadMagicOlder(company truth.Company) object {
	var size any
	if low, high := edges(company.EmployeeRange); low != 0 {
		size = object{{"start", low}, {"end", numberOrNull(high)}}
	}
	return object{
		{"company_name", orNull(company.Name)},
		{"website_url", orNull(httpHost(company.Domain))},
		{"employee_count", numberOrNull(company.Employees)},
		{"employee_count_range", size},
		{"industry", orNull(capitalised(company.Industry))},
		{"description", orNull(company.Description)},
		{"founded_on", object{{"year", numberOrNull(company.Founded)}}},
		{"url", orNull(profile("company", company.LinkedIn))},
		{"universal_name", orNull(company.LinkedIn)},
		{"locations", list{
			object{{"city", "Lisbon"}, {"geographic_area", "Lisbon"}, {"country", "PT"}, {"headquarter", false}},
			object{
				{"city", orNull(company.Place.City)}, {"geographic_area", orNull(company.Place.Region)},
				{"country", orNull(company.Place.CountryCode)}, {"headquarter", true},
			},
		}},
		{"credits_consumed", 1},
		{"message", "Company found"},
	}
}

func leadMagicValidation(c *call) answer {
	address := truth.Fold(textOf(c.body, "email"))
	if !strings.Contains(address, "@") {
		return c.invalid("email is required")
	}
	c.asked(address)
	p, _ := c.vendor.world.Person(address)
	status := leadMagicStatus(p)
	consumed := 0.0
	if status != "unknown" {
		if !c.pay("verify", address, credit/4, false) {
			return c.spent()
		}
		consumed = 0.25
	}
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{
		{"email", address},
		{"email_status", status},
		{"is_domain_catch_all", p.EmailStatus == "accept_all"},
		{"credits_consumed", consumed},
		{"message", "Validated"},
	}}
}

// leadMagicStatus is the vendor's word; it has none for shared mailboxes.
func leadMagicStatus(p truth.Person) string {
	switch p.EmailStatus {
	case "valid", "invalid":
		return p.EmailStatus
	case "accept_all":
		return "catch_all"
	}
	return "unknown"
}

func leadMagicFinder(c *call) answer {
	first, last := textOf(c.body, "first_name"), textOf(c.body, "last_name")
	domain := firstText(textOf(c.body, "domain"), textOf(c.body, "company_domain"))
	if first == "" || last == "" || domain == "" {
		return c.invalid("first_name, last_name and domain are required")
	}
	address := truth.Fold(first + "." + last + "@" + domain)
	p, known := c.person(address)
	if known < truth.Thin || p.EmailStatus != "valid" {
		return answer{outcome: enrich.Miss, status: http.StatusOK,
			body: object{{"email", nil}, {"status", "not_found"}, {"credits_consumed", 0}, {"message", "Email not found"}}}
	}
	if !c.pay("finder", address, credit, false) {
		return c.spent()
	}
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{
		{"email", address}, {"status", "valid"}, {"credits_consumed", 1}, {"message", "Email found"},
	}}
}

func leadMagicCredits(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{
		{"credits", c.creditsLeft()}, {"is_frozen", false}, {"credits_frozen", false},
	}}
}

func leadMagicRefuse(_ *call, r refusal) answer {
	say := func(status int, kind, message string) answer {
		return answer{status: status, body: object{{"error", kind}, {"message", message}, {"credits_consumed", 0}}}
	}
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		return say(http.StatusTooManyRequests, "rate_limit_exceeded", "Too many requests")
	case enrich.QuotaExhausted:
		return say(http.StatusPaymentRequired, "insufficient_credits", "You have no credits left")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "unauthorized", "The API key is "+r.reason)
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, "bad_request", r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "internal_server_error", "Something went wrong")
}
