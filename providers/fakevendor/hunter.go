package fakevendor

import (
	"net/http"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// hunter is the dialect of Hunter.io, API v2: 403 is a full window, 429 a spent
// period. What its pages leave open is taken so: an enrichment costs a credit,
// a person's handle stands without "in/", and 202 carries the parameters only.
var hunter = &dialect{
	name:   "hunter",
	prefix: "/v2",
	routes: []route{
		{method: "GET", path: "/people/find", operation: "person", billed: true, answer: hunterPerson},
		{method: "GET", path: "/companies/find", operation: "company", billed: true, answer: hunterCompany},
		{method: "GET", path: "/combined/find", operation: "combined", billed: true, answer: hunterCombined},
		{method: "GET", path: "/email-verifier", operation: "verify", billed: true, answer: hunterVerifier},
		{method: "GET", path: "/email-finder", operation: "finder", billed: true, answer: hunterFinder},
		{method: "GET", path: "/account", operation: "account", answer: hunterAccount},
	},
	key: func(c *call) string {
		if key := c.query.Get("api_key"); key != "" {
			return key
		}
		if key := c.request.Header.Get("X-API-KEY"); key != "" {
			return key
		}
		return bearer(c.request)
	},
	refuse:   hunterRefuse,
	decorate: func(*call, *answer) {},
	limits: []strict.Limit{
		{Name: "second", Shape: strict.Fixed, Amount: 15, Window: time.Second, Operations: []string{"person", "company", "combined", "finder"}},
		{Name: "minute", Shape: strict.Fixed, Amount: 500, Window: time.Minute, Operations: []string{"person", "company", "combined", "finder"}},
		{Name: "verify-second", Shape: strict.Fixed, Amount: 10, Window: time.Second, Operations: []string{"verify"}},
		{Name: "verify-minute", Shape: strict.Fixed, Amount: 300, Window: time.Minute, Operations: []string{"verify"}},
	},
	prices: map[string]int64{"person": 24_500, "company": 24_500, "combined": 24_500, "verify": 24_500, "finder": 24_500},
	data: Data{
		Knowledge: truth.Knowledge{
			Miss: 0.3, Partial: 0.05, Gaps: 0.15,
			Attributes: map[string]float64{"person.phone": 0.8, "company.annual_revenue_usd": 0.4},
		},
		Pending: Pending{Share: 0.05},
	},
	pendingFor: 3 * time.Second,
}

func hunterPerson(c *call) answer {
	address := c.query.Get("email")
	if !strings.Contains(address, "@") {
		return c.invalid("wrong_params")
	}
	p, known := c.person(address)
	switch known {
	case truth.Objected:
		return c.refuse(refusal{outcome: enrich.Suppressed})
	case truth.Nothing:
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("person", address, credit, false) {
		return c.spent()
	}
	data := hunterPersonData(p)
	if c.flag("clearbit_format") {
		return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: data}
	}
	return hunterAnswer(found(known == truth.Thin), data, "email", address)
}

func hunterCompany(c *call) answer {
	domain := c.query.Get("domain")
	if !strings.Contains(domain, ".") {
		return c.invalid("wrong_params")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	data := hunterCompanyData(company)
	if c.flag("clearbit_format") {
		return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: data}
	}
	return hunterAnswer(found(known == truth.Thin), data, "domain", domain)
}

// hunterCombined answers with the person and the company of an address; either
// may be missing.
func hunterCombined(c *call) answer {
	address := c.query.Get("email")
	if !strings.Contains(address, "@") {
		return c.invalid("wrong_params")
	}
	p, known := c.person(address)
	company, knownCompany := c.company(truth.DomainOf(truth.Fold(address)))
	if known == truth.Objected {
		return c.refuse(refusal{outcome: enrich.Suppressed})
	}
	if known == truth.Nothing && knownCompany == truth.Nothing {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("combined", address, credit, false) {
		return c.spent()
	}
	both := object{{"person", nil}, {"company", nil}}
	if known != truth.Nothing {
		both[0].value = hunterPersonData(p)
	}
	if knownCompany != truth.Nothing {
		both[1].value = hunterCompanyData(company)
	}
	outcome := found(known != truth.Full || knownCompany != truth.Full)
	if c.flag("clearbit_format") {
		return answer{outcome: outcome, status: http.StatusOK, body: both}
	}
	return hunterAnswer(outcome, both, "email", address)
}

func hunterVerifier(c *call) answer {
	address := truth.Fold(c.query.Get("email"))
	if !strings.Contains(address, "@") {
		return c.invalid("wrong_email")
	}
	c.asked(address)
	if c.working("verify", address) {
		a := hunterAnswer(enrich.Pending, nil, "email", address)
		a.status = http.StatusAccepted
		return a
	}
	p, _ := c.vendor.world.Person(address)
	status := p.EmailStatus
	webmail := truth.FreeMail(truth.DomainOf(address))
	switch {
	case webmail && status != "invalid":
		status = "webmail"
	case status == "role":
		status = "valid"
	}
	if status == "unknown" && c.chance("222", address)%2 == 0 {
		return c.refuse(refusal{outcome: enrich.Temporary, status: statusRemoteFailed})
	}
	if status == "valid" || status == "invalid" || status == "accept_all" {
		if !c.pay("verify", address, credit/2, false) {
			return c.spent()
		}
	}
	return hunterAnswer(enrich.Hit, object{
		{"status", status},
		{"result", hunterResult(status)},
		{"score", hunterScore(status)},
		{"email", address},
		{"regexp", true},
		{"gibberish", false},
		{"disposable", status == "disposable"},
		{"webmail", webmail},
		{"mx_records", status != "invalid"},
		{"smtp_server", status != "invalid"},
		{"smtp_check", status == "valid"},
		{"accept_all", status == "accept_all"},
		{"block", false},
	}, "email", address)
}

// statusRemoteFailed is Hunter's own code: the remote mail server answered
// unexpectedly, ask again later.
const statusRemoteFailed = 222

func hunterResult(status string) string {
	switch status {
	case "valid":
		return "deliverable"
	case "invalid", "disposable":
		return "undeliverable"
	}
	return "risky"
}

func hunterScore(status string) int {
	switch status {
	case "valid":
		return 96
	case "accept_all", "webmail":
		return 78
	case "unknown":
		return 50
	}
	return 5
}

// hunterFinder finds first.last@domain for a name.
func hunterFinder(c *call) answer {
	first, last := c.query.Get("first_name"), c.query.Get("last_name")
	if full := strings.Fields(c.query.Get("full_name")); first == "" && len(full) > 1 {
		first, last = full[0], full[len(full)-1]
	}
	domain := truth.Fold(c.query.Get("domain"))
	if first == "" || last == "" || domain == "" {
		return c.invalid("wrong_params")
	}
	address := truth.Fold(first + "." + last + "@" + domain)
	c.asked(address)
	if c.working("finder", address) {
		a := hunterAnswer(enrich.Pending, nil, "domain", domain)
		a.status = http.StatusAccepted
		return a
	}
	p, known := c.person(address)
	switch {
	case known == truth.Objected:
		return c.refuse(refusal{outcome: enrich.Suppressed})
	case known == truth.Nothing || p.EmailStatus == "invalid":
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("finder", address, credit, false) {
		return c.spent()
	}
	return hunterAnswer(enrich.Hit, object{
		{"first_name", first},
		{"last_name", last},
		{"email", address},
		{"score", hunterScore(p.EmailStatus)},
		{"domain", domain},
		{"accept_all", p.EmailStatus == "accept_all"},
		{"position", orNull(p.Title)},
		{"linkedin_url", orNull(profile("in", p.LinkedIn))},
		{"phone_number", orNull(p.Phone)},
		{"company", orNull(p.CompanyName)},
		{"verification", object{{"date", nil}, {"status", orNull(p.EmailStatus)}}},
	}, "domain", domain)
}

func hunterAccount(c *call) answer {
	left, used := c.vendor.purse.balance()
	available := used
	if left >= 0 {
		available += left
	}
	return hunterAnswer(enrich.Hit, object{
		{"plan_name", "Growth"},
		{"requests", object{{"credits", object{{"used", float64(used) / 1000}, {"available", float64(available) / 1000}}}}},
	}, "", "")
}

// hunterAnswer wraps data and repeats what was asked.
func hunterAnswer(outcome enrich.Outcome, data any, parameter, value string) answer {
	asked := object{}
	if parameter != "" {
		asked = object{{parameter, value}}
	}
	return answer{outcome: outcome, status: http.StatusOK,
		body: object{{"data", data}, {"meta", object{{"params", asked}}}}}
}

// hunterRefuse words refusals: a list of errors.
func hunterRefuse(_ *call, r refusal) answer {
	say := func(status int, id, details string) answer {
		return answer{status: status, body: object{{"errors", list{
			object{{"id", id}, {"code", status}, {"details", details}},
		}}}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusNotFound, "not_found", "No data was found for the request")
	case enrich.Suppressed:
		return say(http.StatusUnavailableForLegalReasons, "claimed_email", "The person has asked us not to process their data")
	case enrich.RateLimited, enrich.Blocked:
		return say(http.StatusForbidden, "rate_limit", "You have reached the rate limit; slow down")
	case enrich.QuotaExhausted:
		return say(http.StatusTooManyRequests, "too_many_requests", "You have exceeded the usage of your plan for this billing period")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "authentication_failed", "The API key is "+r.reason)
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason, "A parameter is missing or not valid")
	}
	if r.status == statusRemoteFailed {
		return say(statusRemoteFailed, "verification_failed", "The remote mail server answered unexpectedly")
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "server_error", "Something went wrong on our side")
}
