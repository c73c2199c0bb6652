package fakevendor

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// apollo is the dialect of Apollo.io. A miss is a stub person whose
// organization is filled from the domain. What its pages leave open is taken
// so: spent credits are 422, and a waterfall's result has the callback's shape.
var apollo = &dialect{
	name:   "apollo",
	prefix: "/api/v1",
	routes: []route{
		{method: "POST", path: "/people/match", operation: "person", billed: true, answer: apolloPerson},
		{method: "GET", path: "/organizations/enrich", operation: "company", billed: true, answer: apolloCompany},
		{method: "GET", path: "/webhook_result", parameter: true, operation: "poll", answer: apolloPoll},
		{method: "POST", path: "/usage_stats/credit_usage_stats", operation: "usage", answer: apolloUsage},
	},
	key:      func(c *call) string { return firstText(c.request.Header.Get("x-api-key"), bearer(c.request)) },
	refuse:   apolloRefuse,
	decorate: apolloDecorate,
	limits: []strict.Limit{
		{Name: "minute", Shape: strict.Fixed, Amount: 1000, Window: time.Minute, Operations: []string{"person"}},
		{Name: "minute", Shape: strict.Fixed, Amount: 1000, Window: time.Minute, Operations: []string{"company"}},
		{Name: "minute", Shape: strict.Fixed, Amount: 200, Window: time.Minute, Operations: []string{"poll", "usage"}},
		{Name: "hourly", Shape: strict.Fixed, Amount: 400, Window: time.Hour, Operations: []string{"poll", "usage"}},
		{Name: "24-hour", Shape: strict.Fixed, Amount: 2000, Window: 24 * time.Hour, Operations: []string{"poll", "usage"}},
	},
	prices:     map[string]int64{"person": 25_000, "company": 25_000},
	data:       Data{Knowledge: truth.Knowledge{Miss: 0.2, Partial: 0.05, Gaps: 0.1, Attributes: map[string]float64{"person.email_status": 0.2}}},
	pendingFor: 20 * time.Second,
}

func apolloPerson(c *call) answer {
	address := truth.Fold(c.input("email"))
	if !strings.Contains(address, "@") {
		return c.invalid("INVALID_REQUEST")
	}
	p, known := c.person(address)
	if known == truth.Nothing || known == truth.Objected {
		employer, _ := c.company(truth.DomainOf(address))
		return answer{outcome: enrich.Miss, status: http.StatusOK, body: object{{"person", object{
			{"id", nil}, {"first_name", nil}, {"last_name", nil}, {"name", ""}, {"title", nil}, {"email", nil},
			{"match_confidence", "none"}, {"organization", apolloOrganization(employer)},
		}}}}
	}
	if !c.pay("person", address, credit, false) {
		return c.spent()
	}
	body := object{{"person", apolloPersonData(c, p, known)}}
	if c.flag("run_waterfall_email") || c.flag("run_waterfall_phone") || c.flag("reveal_phone_number") {
		id := apolloJob(c, address)
		body = append(body, object{
			{"waterfall", object{{"status", "accepted"}, {"message", "Results will be sent to the webhook"}}},
			{"request_id", id},
		}...)
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: body}
}

func apolloPersonData(c *call, p truth.Person, known truth.Found) object {
	departments := []string{}
	if word := apolloDepartments[p.Department]; word != "" {
		departments = append(departments, word)
	}
	functions := []string{}
	if word := apolloFunctions[p.Department]; word != "" {
		functions = append(functions, word)
	}
	confidence := "high"
	if known == truth.Thin {
		confidence = "low"
	}
	status, address := apolloStatus[p.EmailStatus], p.Address
	if status == "" {
		status, address = "unavailable", ""
	}
	return object{
		{"id", subjectText(c.chance("id", p.Address))},
		{"first_name", orNull(p.FirstName)},
		{"last_name", orNull(p.LastName)},
		{"name", p.FullName},
		{"linkedin_url", orNull(httpProfile("in", p.LinkedIn))},
		{"title", orNull(p.Title)},
		{"headline", orNull(p.Title)},
		{"email_status", status},
		{"email", orNull(address)},
		{"seniority", orNull(p.Seniority)},
		{"departments", departments},
		{"subdepartments", []string{}},
		{"functions", functions},
		{"city", orNull(p.Place.City)},
		{"state", orNull(p.Place.Region)},
		{"country", orNull(p.Place.Country)},
		{"match_confidence", confidence},
		{"organization", apolloOrganization(p.Employer)},
		// The team's own entry in its own CRM: somebody else.
		{"contact", object{
			{"name", "Wanda Otherling"}, {"email", "wanda.otherling@elsewhere.example"}, {"title", "Clerk"},
			{"time_zone", "Asia/Tokyo"}, {"phone_numbers", list{object{{"sanitized_number", "+12125550199"}}}},
		}},
	}
}

func apolloOrganization(o truth.Company) any {
	if o.Domain == "" && o.Name == "" {
		return nil
	}
	phone := object{}
	if o.Phone != "" {
		phone = object{{"number", spacedPhone(o.Phone)}, {"source", "Account"}, {"sanitized_number", o.Phone}}
	}
	return object{
		{"id", subjectText(truth.World{}.ID(o.Domain))},
		{"name", orNull(o.Name)},
		{"website_url", orNull(httpHost(o.Domain))},
		{"primary_domain", orNull(o.Domain)},
		{"linkedin_url", orNull(httpProfile("company", o.LinkedIn))},
		{"primary_phone", phone},
		{"phone", orNull(spacedPhone(o.Phone))},
		{"founded_year", numberOrNull(o.Founded)},
		{"industry", orNull(o.Industry)},
		{"industries", oneOrNone(o.Industry)},
		{"estimated_num_employees", numberOrNull(o.Employees)},
		{"annual_revenue", moneyOrNull(o.RevenueUSD)},
		{"annual_revenue_printed", orNull(printedMoney(o.RevenueUSD))},
		{"short_description", orNull(o.Description)},
		{"technology_names", o.Technologies},
		{"city", orNull(o.Place.City)},
		{"state", orNull(o.Place.Region)},
		{"country", orNull(o.Place.Country)},
	}
}

func apolloCompany(c *call) answer {
	domain := c.input("domain")
	if domain == "" || strings.Contains(domain, "@") {
		return c.invalid("INVALID_REQUEST")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return answer{outcome: enrich.Miss, status: http.StatusOK, body: object{}}
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK,
		body: object{{"organization", apolloOrganization(company)}}}
}

// apolloJob begins a waterfall. Its id is a signed number of 64 bits, often
// negative.
func apolloJob(c *call, address string) int64 {
	id := int64(c.chance("waterfall", strconv.FormatUint(c.vendor.jobs.number(), 10)))
	if id == math.MinInt64 {
		id++
	}
	c.begin(strconv.FormatInt(id, 10), job{subjects: []string{address}})
	return id
}

func apolloPoll(c *call) answer {
	say := func(outcome enrich.Outcome, status int, code string, more ...member) answer {
		return answer{outcome: outcome, status: status, body: append(object{{"error_code", code}}, more...)}
	}
	if _, err := strconv.ParseInt(c.parameter, 10, 64); err != nil {
		return say(enrich.InvalidInput, http.StatusBadRequest, "invalid_request_id")
	}
	state, j := c.poll(c.parameter)
	switch state {
	case noJob:
		if len(j.subjects) > 0 {
			return say(enrich.Expired, http.StatusGone, "request_id_expired")
		}
		return say(enrich.Expired, http.StatusNotFound, "request_id_unknown")
	case jobTooSoon:
		return c.refuse(refusal{outcome: enrich.RateLimited, limit: "poll"})
	case jobRunning:
		return say(enrich.Pending, http.StatusNotFound, "result_pending", member{"retry_after_seconds", 10})
	}
	p, known := c.person(j.subjects[0])
	phones := list{}
	if p.MobilePhone != "" {
		if !j.read && !c.pay("person", "mobile "+p.Address, 8*credit, false) {
			return c.spent()
		}
		phones = list{object{{"sanitized_number", p.MobilePhone}, {"type_cd", "mobile"}}}
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"status", "success"}, {"request_id", c.parameter}, {"error_code", nil},
		{"people", list{object{{"id", subjectText(c.chance("id", p.Address))}, {"status", "success"}, {"phone_numbers", phones}}}},
	}}
}

func apolloUsage(c *call) answer {
	left, used := c.vendor.purse.balance()
	limit := left + used
	if left < 0 {
		left, limit = 1_000_000*credit, 1_000_000*credit+used
	}
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"email", object{
		{"limit", int64(limit / credit)}, {"consumed", int64(used / credit)}, {"left_over", int64(left / credit)},
	}}}}
}

// The vendor's words for ours; seniority words are the same.
var (
	apolloStatus      = map[string]string{"valid": "verified", "unknown": "unverified"}
	apolloDepartments = map[string]string{"marketing": "master_marketing"}
	apolloFunctions   = map[string]string{
		"engineering": "engineering", "marketing": "marketing", "sales": "sales", "support": "support",
		"operations": "operations", "finance": "accounting", "legal": "legal", "education": "education",
		"design": "arts_and_design", "data": "data_science", "hr": "human_resources", "it": "information_technology",
		"product": "product_management", "other": "consulting",
	}
)

func apolloRefuse(c *call, r refusal) answer {
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		a := answer{status: http.StatusTooManyRequests, body: object{
			{"message", "The maximum number of api calls allowed for this endpoint is exceeded for this " + r.limit},
		}}
		if ready, spoken := c.hint(r); spoken {
			a.header("retry-after", strconv.FormatInt(wholeSeconds(ready.Sub(c.now)), 10))
		}
		return a
	case enrich.QuotaExhausted:
		return answer{status: http.StatusUnprocessableEntity, body: object{{"error", "You have insufficient credits"}, {"error_code", "INSUFFICIENT_CREDITS"}}}
	case enrich.AuthFailed:
		return answer{status: http.StatusUnauthorized, contentType: "text/plain; charset=utf-8", body: "Invalid access credentials."}
	case enrich.InvalidInput:
		return answer{status: http.StatusBadRequest, body: object{{"status", "failed"}, {"error_code", firstText(r.reason, "INVALID_REQUEST")}}}
	}
	return answer{status: orStatus(r.status, http.StatusInternalServerError), body: object{{"error", "Internal server error"}}}
}

// apolloDecorate adds the limits of three windows. A window without a limit
// has an empty limit header and no others; a refused key sees none.
func apolloDecorate(c *call, a *answer) {
	if c.set.Limits.Silent || c.caller == nil {
		return
	}
	states := c.states()
	for _, window := range []struct{ name, usage string }{{"minute", "minute"}, {"hourly", "hourly"}, {"24-hour", "24-hour"}} {
		limit := ""
		for _, s := range states {
			if s.Name == window.name {
				limit = strconv.FormatInt(s.Amount, 10)
				a.header("x-"+window.usage+"-usage", strconv.FormatInt(s.Amount-s.Remaining, 10))
				a.header("x-"+window.usage+"-requests-left", strconv.FormatInt(s.Remaining, 10))
			}
		}
		a.header("x-rate-limit-"+window.name, limit)
	}
}
