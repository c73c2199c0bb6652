package fakevendor

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// prospeo is the dialect of Prospeo: status 400 is a miss, spent credits and
// bad input alike, told apart by a code. What its pages leave open is taken so:
// the code INSUFFICIENT_CREDITS, 401 for a bad key, and the fields that only
// other clients read.
var prospeo = &dialect{
	name: "prospeo",
	routes: []route{
		{method: "POST", path: "/enrich-person", operation: "person", billed: true, answer: prospeoPerson},
		{method: "POST", path: "/enrich-company", operation: "company", billed: true, answer: prospeoCompany},
		{method: "POST", path: "/account-information", operation: "account", answer: prospeoAccount},
	},
	key:      func(c *call) string { return c.request.Header.Get("X-KEY") },
	refuse:   prospeoRefuse,
	decorate: prospeoDecorate,
	limits: []strict.Limit{
		{Name: "second", Shape: strict.Fixed, Amount: 30, Window: time.Second},
		{Name: "minute", Shape: strict.Fixed, Amount: 300, Window: time.Minute},
		{Name: "daily", Shape: strict.Day, Amount: 500_000},
	},
	prices: map[string]int64{"person": 39_000, "company": 39_000},
	data: Data{Knowledge: truth.Knowledge{Miss: 0.3, Partial: 0.1, Gaps: 0.1,
		Attributes: map[string]float64{"person.mobile_phone": 0.6}}},
}

func prospeoPerson(c *call) answer {
	data, _ := c.body["data"].(map[string]any)
	address := textOf(data, "email")
	if !strings.Contains(address, "@") {
		return c.invalid("INVALID_DATAPOINTS")
	}
	p, known := c.person(address)
	if known < truth.Thin || c.flag("only_verified_email") && p.EmailStatus != "valid" {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	mobile := c.flag("enrich_mobile") && p.MobilePhone != ""
	before := c.note.milli
	if !c.pay("person", address, credit, true) || mobile && !c.pay("person", "mobile "+address, 9*credit, true) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"error", false},
		{"free_enrichment", c.note.milli == before},
		{"person", prospeoPersonData(c, p, mobile)},
		{"company", prospeoCompanyData(p.Employer)},
	}}
}

func prospeoPersonData(c *call, p truth.Person, mobile bool) object {
	status := "UNAVAILABLE"
	if p.EmailStatus == "valid" {
		status = "VERIFIED"
	}
	job := subjectText(c.chance("job", p.Address))
	current := any(job)
	if c.chance("key", p.Address)%4 == 0 {
		current = nil // then the latest of the current jobs is the main one
	}
	main := object{
		{"title", orNull(p.Title)}, {"company_name", orNull(p.CompanyName)}, {"current", true}, {"start_year", 2023},
		{"start_month", 4}, {"seniority", orNull(prospeoSeniority[p.Seniority])},
		{"departments", oneOrNone(prospeoDepartments[p.Department])}, {"job_key", job},
	}
	side := object{
		{"title", "Adviser"}, {"company_name", "Elsewhere"}, {"current", true}, {"start_year", 2019}, {"start_month", 1},
		{"seniority", "Entry"}, {"departments", []string{"Consulting"}}, {"job_key", "side-" + job},
	}
	return object{
		{"person_id", subjectText(c.chance("person", p.Address))},
		{"first_name", orNull(p.FirstName)},
		{"last_name", orNull(p.LastName)},
		{"full_name", orNull(p.FullName)},
		{"linkedin_url", orNull(profile("in", p.LinkedIn))},
		{"current_job_title", orNull(p.Title)},
		{"current_job_key", current},
		{"headline", "Here to help"},
		{"email", object{{"status", status}, {"revealed", true}, {"email", p.Address}}},
		{"mobile", prospeoMobile(p.MobilePhone, mobile)},
		{"location", object{
			{"country", orNull(p.Place.Country)},
			{"country_code", orNull(p.Place.CountryCode)},
			{"state", orNull(p.Place.Region)},
			{"city", orNull(p.Place.City)},
			{"time_zone", orNull(p.Place.TimeZone)},
		}},
		{"job_history", list{side, main}},
	}
}

// prospeoMobile is a number, masked unless it was bought.
func prospeoMobile(number string, revealed bool) any {
	if number == "" {
		return object{{"status", "UNAVAILABLE"}, {"revealed", false}, {"mobile", nil}}
	}
	if !revealed {
		number = number[:4] + "**-***-****"
	}
	return object{{"status", "VERIFIED"}, {"revealed", revealed}, {"mobile", number}}
}

func prospeoCompany(c *call) answer {
	data, _ := c.body["data"].(map[string]any)
	domain := textOf(data, "company_website")
	if domain == "" {
		return c.invalid("INVALID_DATAPOINTS")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	before := c.note.milli
	if !c.pay("company", domain, credit, true) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"error", false},
		{"free_enrichment", c.note.milli == before},
		{"company", prospeoCompanyData(company)},
	}}
}

func prospeoCompanyData(company truth.Company) any {
	if company.Name == "" && company.Domain == "" {
		return nil
	}
	return object{
		{"name", orNull(company.Name)},
		{"website", orNull(httpHost(company.Domain))},
		{"domain", orNull(company.Domain)},
		{"industry", orNull(capitalised(company.Industry))},
		{"description", orNull(company.Description)},
		{"employee_count", numberOrNull(company.Employees)},
		{"employee_range", orNull(company.EmployeeRange)},
		{"location", object{
			{"country", orNull(company.Place.Country)},
			{"country_code", orNull(company.Place.CountryCode)},
			{"state", orNull(company.Place.Region)},
			{"city", orNull(company.Place.City)},
		}},
		{"technology", object{{"count", len(company.Technologies)}, {"technology_names", company.Technologies}}},
	}
}

func prospeoAccount(c *call) answer {
	_, used := c.vendor.purse.balance()
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"error", false}, {"response", object{
		{"remaining_credits", c.creditsLeft()}, {"used_credits", int64(used / credit)},
	}}}}
}

// The vendor's words for ours.
var (
	prospeoSeniority = map[string]string{
		"founder": "Founder/Owner", "c_suite": "C-Suite", "vp": "Vice President", "director": "Director",
		"manager": "Manager", "senior": "Senior", "entry": "Entry", "intern": "Intern",
	}
	prospeoDepartments = map[string]string{
		"engineering": "Engineering", "marketing": "Online marketing", "sales": "Sales", "finance": "Finance",
		"operations": "Operations", "hr": "Human Resources", "legal": "Legal", "it": "Information Technology",
		"product": "Product", "design": "Design", "support": "Customer Service", "education": "Education",
	}
)

func prospeoRefuse(c *call, r refusal) answer {
	say := func(status int, code string) answer {
		return answer{status: status, body: object{{"error", true}, {"error_code", code}}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusBadRequest, "NO_MATCH")
	case enrich.RateLimited, enrich.Blocked:
		a := say(http.StatusTooManyRequests, "RATE_LIMITED")
		if ready, spoken := c.hint(r); spoken {
			window := "minute"
			if r.limit == "daily" {
				window = "daily"
			}
			a.header("x-"+window+"-request-left", "0")
			a.header("x-"+window+"-reset-seconds", strconv.FormatInt(wholeSeconds(ready.Sub(c.now)), 10))
		}
		return a
	case enrich.QuotaExhausted:
		return say(http.StatusBadRequest, "INSUFFICIENT_CREDITS")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "INVALID_API_KEY")
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "INTERNAL_ERROR")
}

func prospeoDecorate(c *call, a *answer) {
	refused := a.outcome == enrich.RateLimited || a.outcome == enrich.Blocked
	for _, s := range c.states() {
		switch s.Name {
		case "second":
			a.header("x-second-rate-limit", strconv.FormatInt(s.Amount, 10))
		case "minute", "daily":
			if refused && (s.Name == a.limit || s.Name == "minute") {
				continue // said with the refusal
			}
			a.header("x-"+s.Name+"-request-left", strconv.FormatInt(s.Remaining, 10))
			a.header("x-"+s.Name+"-reset-seconds", strconv.FormatInt(wholeSeconds(s.ResetAt.Sub(c.now)), 10))
		}
	}
}
