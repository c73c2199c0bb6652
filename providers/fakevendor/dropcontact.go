package fakevendor

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// dropcontact is the dialect of Dropcontact: submit, then poll. Not ready, an
// unknown id and a passing fault all have the same answer. What its pages leave
// open is taken so: country and phone are the company's.
var dropcontact = &dialect{
	name:   "dropcontact",
	prefix: "/v1",
	routes: []route{
		{method: "POST", path: "/enrich/all", operation: "submit", billed: true, entities: dropcontactCount, answer: dropcontactSubmit},
		{method: "GET", path: "/enrich/all", parameter: true, operation: "poll", answer: dropcontactPoll},
		{method: "GET", path: "/account/credits", operation: "account", answer: dropcontactAccount},
	},
	key:        func(c *call) string { return c.request.Header.Get("X-Access-Token") },
	refuse:     dropcontactRefuse,
	decorate:   func(*call, *answer) {},
	limits:     []strict.Limit{{Name: "second", Shape: strict.Fixed, Amount: 60, Window: time.Second}},
	prices:     map[string]int64{"submit": 158_000}, // of a euro
	data:       Data{Knowledge: truth.Knowledge{Miss: 0.3, Partial: 0.1, Gaps: 0.15, Attributes: map[string]float64{"person.mobile_phone": 0.8}}},
	pendingFor: 40 * time.Second,
}

// dropcontactKeys are what a record may hold.
var dropcontactKeys = []string{
	"email", "first_name", "last_name", "full_name", "company", "website", "company_linkedin", "linkedin", "num_siren",
	"siret", "phone", "country", "job", "custom_fields",
}

func dropcontactCount(c *call) int { return max(1, len(c.items("data"))) }

func dropcontactSubmit(c *call) answer {
	items := c.items("data")
	if len(items) == 0 || len(items) > 250 {
		return c.invalid("data must hold 1 to 250 records")
	}
	left, _ := c.vendor.purse.balance()
	if left >= 0 && left < milli(len(items))*credit {
		return c.spent()
	}
	j := job{items: items}
	for _, item := range items {
		for name := range item {
			if !slices.Contains(dropcontactKeys, name) {
				return c.invalid("unexpected_field: " + name)
			}
		}
		subject := dropcontactSubject(item)
		if subject == "" {
			return c.invalid("a record needs an email, a company identifier or a LinkedIn page")
		}
		j.subjects = append(j.subjects, subject)
		c.asked(subject)
	}
	for _, subject := range j.subjects {
		if !c.pay("submit", subject, credit, false) {
			return c.spent()
		}
	}
	id := fmt.Sprintf("drp%016x", c.chance("request", fmt.Sprint(c.vendor.jobs.number())))
	c.begin(id, j)
	return answer{outcome: enrich.Pending, status: http.StatusOK, body: object{
		{"request_id", id}, {"success", true}, {"error", false}, {"credits_left", c.creditsLeft()},
	}}
}

// dropcontactSubject is what a record asks for: an address, sent or made from
// a name, or else a domain.
func dropcontactSubject(item map[string]any) string {
	if address := textOf(item, "email"); strings.Contains(address, "@") {
		return truth.Fold(address)
	}
	domain := strings.TrimPrefix(truth.Fold(textOf(item, "website")), "www.")
	if first, last := textOf(item, "first_name"), textOf(item, "last_name"); first != "" && last != "" && domain != "" {
		return truth.Fold(first + "." + last + "@" + domain)
	}
	return domain
}

func dropcontactPoll(c *call) answer {
	state, j := c.poll(c.parameter)
	switch state {
	case jobTooSoon:
		return c.refuse(refusal{outcome: enrich.RateLimited, limit: "poll"})
	case noJob, jobRunning:
		if c.flag("forceResults") && state == jobRunning {
			break
		}
		return answer{outcome: enrich.Pending, status: http.StatusOK, body: object{
			{"error", false}, {"success", false}, {"reason", "Request not ready yet, try again in 30 seconds"},
		}}
	}
	records := make(list, 0, len(j.items))
	outcome := enrich.Miss
	for i, item := range j.items {
		record, got, paidFor := dropcontactRecord(c, j.subjects[i], item)
		records = append(records, record)
		if i == 0 {
			outcome = got
		}
		if state == jobDone && !j.read && !paidFor {
			c.vendor.purse.refund(credit)
			c.bill("submit", -credit)
		}
	}
	return answer{outcome: outcome, status: http.StatusOK, body: object{
		{"success", true}, {"error", false}, {"data", records}, {"credits_left", c.creditsLeft()},
	}}
}

// dropcontactRecord is one record, what it means, and whether its credit is
// kept: it is for an address that was sent, and for one that was found.
func dropcontactRecord(c *call, subject string, item map[string]any) (object, enrich.Outcome, bool) {
	website := textOf(item, "website")
	if truth.DomainOf(subject) == "" {
		company, known := c.company(subject)
		if known == truth.Nothing {
			return object{{"website", website}}, enrich.Miss, false
		}
		return dropcontactCompany(company), found(known == truth.Thin), false
	}
	sent := textOf(item, "email") != ""
	p, known := c.person(subject)
	switch known {
	case truth.Objected:
		return object{{"email", list{object{{"email", subject}, {"qualification", "Do_Not_Contact"}}}}}, enrich.Suppressed, sent
	case truth.Nothing:
		return object{}, enrich.Miss, sent
	}
	emails := list{}
	if word := dropcontactQualification(p); word != "" {
		emails = list{
			object{{"email", "office@" + truth.DomainOf(subject)}, {"qualification", "generic@pro"}},
			object{{"email", subject}, {"qualification", word}},
		}
	}
	record := object{
		{"email", emails},
		{"full_name", orOmit(p.FullName)},
		{"first_name", orOmit(p.FirstName)},
		{"last_name", orOmit(p.LastName)},
		{"job", orOmit(p.Title)},
		{"job_level", orOmit(dropcontactLevels[p.Seniority])},
		{"job_function", orOmit(dropcontactFunctions[p.Department])},
		{"linkedin", orOmit(profile("in", p.LinkedIn))},
		{"mobile_phone", orOmit(p.MobilePhone)},
	}
	if p.CompanyName != "" || p.CompanyDomain != "" {
		employer := p.Employer
		employer.Name, employer.Domain = p.CompanyName, p.CompanyDomain
		record = append(record, dropcontactCompany(employer)...)
	}
	return record, found(known == truth.Thin), sent || p.EmailStatus == "valid"
}

func dropcontactCompany(company truth.Company) object {
	website := ""
	if company.Domain != "" {
		website = "www." + company.Domain
	}
	turnover := ""
	if company.RevenueUSD != 0 {
		turnover = printedMoney(company.RevenueUSD)
	}
	city := ""
	if company.Place.CountryCode == "FR" {
		city = company.Place.City
	}
	return object{
		{"company", orOmit(company.Name)},
		{"website", orOmit(website)},
		{"company_linkedin", orOmit(profile("company", company.LinkedIn))},
		{"industry", orOmit(capitalised(company.Industry))},
		{"nb_employees", orOmit(company.EmployeeRange)},
		{"employee_count", numberOrOmit(company.Employees)},
		{"company_turnover", orOmit(turnover)},
		{"country", orOmit(company.Place.CountryCode)},
		{"siret_city", orOmit(city)},
	}
}

// dropcontactQualification is the vendor's word for whether mail arrives, and
// for what kind of domain it is.
func dropcontactQualification(p truth.Person) string {
	word := map[string]string{
		"valid": "nominative", "accept_all": "catch-all", "role": "generic", "invalid": "invalid",
		"unknown": "non_validated", "disposable": "random",
	}[p.EmailStatus]
	switch {
	case word == "":
		return ""
	case p.EmailStatus == "disposable":
		return word + "@disposable"
	case truth.FreeMail(truth.DomainOf(p.Address)):
		return word + "@perso"
	}
	return word + "@pro"
}

// The vendor's words for ours.
var (
	dropcontactLevels = map[string]string{
		"c_suite": "C-level", "director": "Director", "manager": "manager", "senior": "Senior",
	}
	dropcontactFunctions = map[string]string{
		"sales": "Sales", "engineering": "Engineering", "marketing": "Marketing", "finance": "Finance", "legal": "Legal",
		"operations": "Operations", "hr": "Human Resources", "it": "Information Technology", "product": "Product",
	}
)

func dropcontactAccount(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"credits_left", c.creditsLeft()}}}
}

func dropcontactRefuse(_ *call, r refusal) answer {
	say := func(status int, field, text string) answer {
		return answer{status: status, body: object{{"error", true}, {"success", false}, {field, text}}}
	}
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		return say(http.StatusTooManyRequests, "reason", "Too many requests")
	case enrich.QuotaExhausted:
		return say(http.StatusForbidden, "reason", "You don't have enough credits")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "reason", "Your access token is "+r.reason)
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, "reason", r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "detail", "Internal server error")
}
