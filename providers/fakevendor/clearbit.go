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

// clearbit is the dialect of the legacy Clearbit API: a miss is billed too, a
// repeat is free. What its pages leave open is taken so: X-RateLimit-Reset is
// in epoch seconds, and range texts have the edges of its old sample data.
var clearbit = &dialect{
	name:   "clearbit",
	prefix: "/v2",
	routes: []route{
		{method: "GET", path: "/people/find", operation: "person", billed: true, answer: clearbitPerson},
		{method: "GET", path: "/companies/find", operation: "company", billed: true, answer: clearbitCompany},
		{method: "GET", path: "/combined/find", operation: "combined", billed: true, answer: clearbitCombined},
	},
	key: func(c *call) string {
		if user, _, ok := c.request.BasicAuth(); ok {
			return user
		}
		return bearer(c.request)
	},
	refuse:   clearbitRefuse,
	decorate: clearbitDecorate,
	limits: []strict.Limit{
		{Name: "minute", Shape: strict.Fixed, Amount: 600, Window: time.Minute, Operations: []string{"person", "combined"}},
		{Name: "minute", Shape: strict.Fixed, Amount: 600, Window: time.Minute, Operations: []string{"company"}},
	},
	prices: map[string]int64{"person": 100_000, "company": 100_000, "combined": 100_000}, // invented: no list is published
	data: Data{
		Knowledge: truth.Knowledge{Miss: 0.3, Partial: 0.05, Gaps: 0.1, Attributes: map[string]float64{"person.linkedin_url": 0.4}},
		Pending:   Pending{Share: 0.1},
	},
	pendingFor: 2 * time.Minute,
}

func clearbitPerson(c *call) answer {
	address := truth.Fold(c.query.Get("email"))
	if !strings.Contains(address, "@") {
		return c.invalid("email_invalid")
	}
	p, known := c.person(address)
	return clearbitAnswer(c, "person", address, known, clearbitPersonData(p))
}

func clearbitCompany(c *call) answer {
	domain := truth.Fold(c.query.Get("domain"))
	if !strings.Contains(domain, ".") {
		return c.invalid("domain_invalid")
	}
	company, known := c.company(domain)
	return clearbitAnswer(c, "company", domain, known, clearbitCompanyData(company))
}

// clearbitCombined answers with a person and a company, one of which may be
// null.
func clearbitCombined(c *call) answer {
	address := truth.Fold(c.query.Get("email"))
	if !strings.Contains(address, "@") {
		return c.invalid("email_invalid")
	}
	p, known := c.person(address)
	company, knownCompany := c.company(truth.DomainOf(address))
	both := object{{"person", nil}, {"company", nil}}
	if known >= truth.Thin {
		both[0].value = clearbitPersonData(p)
	}
	if knownCompany >= truth.Thin {
		both[1].value = clearbitCompanyData(company)
	}
	if known != knownCompany && max(known, knownCompany) >= truth.Thin {
		known = truth.Thin
	}
	return clearbitAnswer(c, "combined", address, known, both)
}

// clearbitAnswer bills the call, whatever is known, and answers at once or
// later.
func clearbitAnswer(c *call, operation, subject string, known truth.Found, body object) answer {
	if !c.pay(operation, subject, credit, true) {
		return c.spent()
	}
	if c.working(operation, subject) {
		return answer{outcome: enrich.Pending, status: http.StatusAccepted, body: object{{"error", object{
			{"type", "queued"}, {"message", "Your request has been queued; try again in a few minutes"},
		}}}}
	}
	if known < truth.Thin {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: body}
}

func clearbitPersonData(p truth.Person) object {
	data := hunterPersonData(p)
	for i := range data {
		if data[i].name == "employment" {
			data[i].value = object{
				{"domain", orNull(p.CompanyDomain)},
				{"name", orNull(p.CompanyName)},
				{"title", orNull(p.Title)},
				{"role", orNull(clearbitRoles[p.Department])},
				{"seniority", orNull(clearbitSeniority[p.Seniority])},
			}
		}
	}
	return data
}

func clearbitCompanyData(c truth.Company) object {
	data := hunterCompanyData(c)
	for i := range data {
		switch data[i].name {
		case "category":
			data[i].value = object{{"sector", nil}, {"industry", orNull(capitalised(c.Industry))}}
		case "metrics":
			data[i].value = object{
				{"employees", numberOrNull(c.Employees)},
				{"employeesRange", orNull(clearbitRange(c.EmployeeRange))},
				{"annualRevenue", numberOrNull(c.RevenueUSD)},
				{"estimatedAnnualRevenue", orNull(moneyRange(c.RevenueRange))},
			}
		}
	}
	return data
}

// clearbitRange spells a range with the vendor's edges. Where its lower one
// lies in another of our ranges the vendor says nothing, so as never to
// contradict the truth.
func clearbitRange(name string) string {
	return map[string]string{"1-10": "1-10", "11-50": "11-50", "51-200": "51-250"}[name]
}

// The vendor's words for ours.
var (
	clearbitSeniority = map[string]string{"c_suite": "executive", "director": "director", "manager": "manager"}
	clearbitRoles     = map[string]string{
		"engineering": "engineering", "product": "product", "design": "design", "marketing": "marketing", "sales": "sales",
		"support": "customer_service", "operations": "operations", "finance": "finance", "hr": "human_resources",
		"legal": "legal", "it": "information_technology", "education": "education", "medical": "health",
	}
)

func clearbitRefuse(c *call, r refusal) answer {
	say := func(status int, kind, message string) answer {
		return answer{status: status, body: object{{"error", object{{"type", kind}, {"message", message}}}}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusNotFound, "unknown_record", "Unknown record.")
	case enrich.RateLimited, enrich.Blocked:
		a := say(http.StatusTooManyRequests, "rate_limit", "Over the rate limit")
		if ready, spoken := c.hint(r); spoken {
			a.header("X-RateLimit-Limit", "600")
			a.header("X-RateLimit-Remaining", "0")
			a.header("X-RateLimit-Reset", epoch(ready))
		}
		return a
	case enrich.QuotaExhausted:
		return say(http.StatusPaymentRequired, "over_quota", "Your account is over its quota")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "auth_invalid", "Invalid API key provided")
	case enrich.InvalidInput:
		return say(http.StatusUnprocessableEntity, r.reason, "A parameter is not valid")
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "internal", "Something went wrong")
}

func clearbitDecorate(c *call, a *answer) {
	a.header("x-api-version", "2019-12-19")
	if a.outcome == enrich.RateLimited || a.outcome == enrich.Blocked {
		return
	}
	if states := c.states(); len(states) > 0 {
		a.header("X-RateLimit-Limit", strconv.FormatInt(states[0].Amount, 10))
		a.header("X-RateLimit-Remaining", strconv.FormatInt(states[0].Remaining, 10))
		a.header("X-RateLimit-Reset", epoch(states[0].ResetAt))
	}
}

// epoch is an instant in seconds since 1970, rounded up.
func epoch(at time.Time) string {
	return strconv.FormatInt(at.Add(time.Second-time.Nanosecond).Unix(), 10)
}
