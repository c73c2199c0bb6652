package fakevendor

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// peopleDataLabs is the dialect of People Data Labs, API v5. What its pages
// leave open is taken so: the form of a refused minimum input's message, and
// milliseconds in the ISO-8601 reset.
var peopleDataLabs = &dialect{
	name:   "peopledatalabs",
	prefix: "/v5",
	routes: []route{
		{method: "GET", path: "/person/enrich", operation: "person", billed: true, answer: pdlPerson},
		{method: "POST", path: "/person/enrich", operation: "person", billed: true, answer: pdlPerson},
		{method: "GET", path: "/company/enrich", operation: "company", billed: true, answer: pdlCompany},
		{method: "POST", path: "/company/enrich", operation: "company", billed: true, answer: pdlCompany},
	},
	key: func(c *call) string {
		if key := c.request.Header.Get("X-Api-Key"); key != "" {
			return key
		}
		return c.input("api_key")
	},
	refuse:   pdlRefuse,
	decorate: pdlDecorate,
	limits: []strict.Limit{
		{Name: "minute", Shape: strict.Fixed, Amount: 1000, Window: time.Minute, Operations: []string{"person"}},
		{Name: "minute", Shape: strict.Fixed, Amount: 1000, Window: time.Minute, Operations: []string{"company"}},
	},
	prices: map[string]int64{"person": 280_000, "company": 100_000},
	data: Data{Knowledge: truth.Knowledge{
		Miss: 0.25, Partial: 0.05, Gaps: 0.1,
		Attributes: map[string]float64{"person.phone": 0.6, "person.mobile_phone": 0.7},
	}},
}

func pdlPerson(c *call) answer {
	address := c.input("email")
	if !strings.Contains(address, "@") {
		return c.invalid("Request must contain at least an email")
	}
	p, known := c.person(address)
	likelihood := 6 + int(c.chance("likelihood", address)%5)
	if known == truth.Thin {
		likelihood = 2 + int(c.chance("likelihood", address)%4)
	}
	data := pdlPersonData(p, pdlCase(c.flag("titlecase")))
	least, _ := strconv.Atoi(c.input("min_likelihood"))
	if known == truth.Nothing || known == truth.Objected || likelihood < least || !requires(c.input("required"), data) {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("person", address, credit, false) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK,
		body: object{{"status", 200}, {"likelihood", likelihood}, {"data", data}}}
}

func pdlCompany(c *call) answer {
	domain := c.input("website")
	if domain == "" {
		return c.invalid("Request must contain at least a website")
	}
	company, known := c.company(domain)
	likelihood := 6 + int(c.chance("likelihood", domain)%5)
	fields := pdlCompanyFields(c, company, pdlCase(c.flag("titlecase")))
	least, _ := strconv.Atoi(c.input("min_likelihood"))
	if known == truth.Nothing || likelihood < least || !requires(c.input("required"), fields) {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK,
		body: append(object{{"status", 200}, {"likelihood", likelihood}}, fields...)}
}

// pdlCase spells texts as the vendor does: in lower case unless title case was
// asked for.
func pdlCase(titlecase bool) func(string) any {
	return func(text string) any {
		if !titlecase {
			text = strings.ToLower(text)
		}
		return orNull(text)
	}
}

func pdlPersonData(p truth.Person, spell func(string) any) object {
	phones := []string{}
	if p.Phone != "" {
		phones = append(phones, p.Phone)
	}
	levels := []string{}
	if level := pdlLevels[p.Seniority]; level != "" {
		levels = append(levels, level)
	}
	e := p.Employer
	return object{
		{"full_name", spell(p.FullName)},
		{"first_name", spell(p.FirstName)},
		{"last_name", spell(p.LastName)},
		{"linkedin_url", orNull(pdlProfile("in", p.LinkedIn))},
		{"linkedin_username", orNull(p.LinkedIn)},
		{"work_email", orNull(p.Address)},
		{"personal_emails", list{}},
		{"mobile_phone", orNull(p.MobilePhone)},
		{"phone_numbers", phones},
		{"job_title", spell(p.Title)},
		{"job_title_role", orNull(pdlRoles[p.Department])},
		{"job_title_levels", levels},
		{"job_company_name", spell(p.CompanyName)},
		{"job_company_website", orNull(p.CompanyDomain)},
		{"job_company_size", orNull(e.EmployeeRange)},
		{"job_company_industry", orNull(e.Industry)},
		{"job_company_employee_count", numberOrNull(e.Employees)},
		{"job_company_linkedin_url", orNull(pdlProfile("company", e.LinkedIn))},
		{"job_company_location_locality", spell(e.Place.City)},
		{"job_company_location_region", spell(e.Place.Region)},
		{"job_company_location_country", spell(e.Place.Country)},
		{"job_company_inferred_revenue", orNull(moneyRange(e.RevenueRange))},
		{"location_name", spell(joined(p.Place.City, p.Place.Region, p.Place.Country))},
		{"location_locality", spell(p.Place.City)},
		{"location_region", spell(p.Place.Region)},
		{"location_country", spell(p.Place.Country)},
	}
}

func pdlCompanyFields(c *call, company truth.Company, spell func(string) any) object {
	var founded any = numberOrNull(company.Founded)
	if company.Founded != 0 && c.chance("founded", company.Domain)%4 == 0 {
		founded = strconv.Itoa(company.Founded) // published records show both forms
	}
	place := company.Place
	return object{
		{"name", spell(company.Name)},
		{"display_name", orNull(company.Name)},
		{"website", orNull(company.Domain)},
		{"size", orNull(company.EmployeeRange)},
		{"employee_count", numberOrNull(company.Employees)},
		{"founded", founded},
		{"industry", orNull(company.Industry)},
		{"industry_v2", nil},
		{"location", object{
			{"name", spell(joined(place.City, place.Region, place.Country))},
			{"locality", spell(place.City)},
			{"region", spell(place.Region)},
			{"country", spell(place.Country)},
		}},
		{"linkedin_url", orNull(pdlProfile("company", company.LinkedIn))},
		{"linkedin_slug", orNull(company.LinkedIn)},
		{"summary", orNull(company.Description)},
		{"headline", nil},
		{"total_funding_raised", nil},
	}
}

// pdlProfile is a LinkedIn address without a scheme.
func pdlProfile(kind, handle string) string {
	if handle == "" {
		return ""
	}
	return "linkedin.com/" + kind + "/" + handle
}

// pdlLevels and pdlRoles are the vendor's words for ours.
var (
	pdlLevels = map[string]string{
		"owner": "owner", "c_suite": "cxo", "partner": "partner", "vp": "vp", "director": "director",
		"manager": "manager", "senior": "senior", "entry": "entry", "intern": "training",
	}
	pdlRoles = map[string]string{
		"engineering": "engineering", "product": "product", "design": "creative", "marketing": "marketing",
		"sales": "sales", "support": "support", "operations": "operations", "finance": "finance",
		"hr": "human_resources", "legal": "legal", "data": "analyst", "education": "education", "medical": "health",
		"other": "advisory",
	}
)

// pdlRefuse words refusals: an error object beside the status.
func pdlRefuse(c *call, r refusal) answer {
	say := func(status int, kind, message string) answer {
		return answer{status: status, body: object{
			{"status", status},
			{"error", object{{"type", kind}, {"message", message}}},
		}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusNotFound, "not_found", "No records were found matching your request")
	case enrich.RateLimited, enrich.Blocked:
		a := say(http.StatusTooManyRequests, "rate_limit_error", "An error occurred due to requests hitting our API too quickly")
		if ready, spoken := c.hint(r); spoken {
			a.header("x-ratelimit-reset", isoUTC(ready))
		}
		return a
	case enrich.QuotaExhausted:
		return say(http.StatusPaymentRequired, "payment_required", "You have reached your account maximum (all matches used)")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "authentication_error", "Request contained a "+r.reason+" key")
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, "invalid_request_error", r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "api_error", "The server encountered an unexpected condition")
}

// pdlDecorate adds what is left and what the call cost. An object stands in
// the limit headers, now and then in single quotes.
func pdlDecorate(c *call, a *answer) {
	states := c.states()
	if len(states) > 0 {
		mark := `"`
		if c.chance("quotes", c.arrived.String())%4 == 0 {
			mark = "'"
		}
		limits, left := make([]string, len(states)), make([]string, len(states))
		reset := states[0].ResetAt
		for i, s := range states {
			limits[i] = fmt.Sprintf("%s%s%s: %d", mark, s.Name, mark, s.Amount)
			left[i] = fmt.Sprintf("%s%s%s: %d", mark, s.Name, mark, s.Remaining)
			if s.Remaining == 0 && s.ResetAt.After(reset) {
				reset = s.ResetAt
			}
		}
		a.header("x-ratelimit-limit", "{"+strings.Join(limits, ", ")+"}")
		a.header("x-ratelimit-remaining", "{"+strings.Join(left, ", ")+"}")
		if a.status == http.StatusOK || a.status == http.StatusNotFound {
			a.header("x-ratelimit-reset", isoUTC(reset))
		}
	}
	if a.status == http.StatusOK || a.status == http.StatusNotFound || a.status == http.StatusPaymentRequired {
		left, used := c.vendor.purse.balance()
		a.header("x-call-credits-spent", strconv.Itoa(int(c.note.milli/credit)))
		a.header("x-call-credits-type", c.route.operation)
		a.header("x-lifetime-used", strconv.Itoa(int(used/credit)))
		if left >= 0 {
			a.header("x-totallimit-remaining", strconv.Itoa(int(left/credit)))
		}
	}
}
