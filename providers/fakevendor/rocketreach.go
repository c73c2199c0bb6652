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

// rocketReach is the dialect of RocketReach, API v2: a look-up answers with a
// profile whose status says whether it is done. What its pages leave open is
// taken so: a look-up costs one credit, and the texts of refusals.
var rocketReach = &dialect{
	name:   "rocketreach",
	prefix: "/api/v2",
	routes: []route{
		{method: "GET", path: "/person/lookup", operation: "person", billed: true, answer: rocketReachPerson},
		{method: "GET", path: "/universal/person/lookup", operation: "person", billed: true, answer: rocketReachPerson},
		{method: "GET", path: "/person/checkStatus", operation: "poll", answer: rocketReachPoll},
		{method: "GET", path: "/universal/person/checkStatus", operation: "poll", answer: rocketReachPoll},
		{method: "GET", path: "/company/lookup", operation: "company", billed: true, answer: rocketReachCompany},
		{method: "GET", path: "/universal/company/lookup", operation: "company", billed: true, answer: rocketReachCompany},
		{method: "GET", path: "/account", operation: "account", answer: rocketReachAccount},
	},
	key:      func(c *call) string { return firstText(c.request.Header.Get("Api-Key"), c.query.Get("api_key")) },
	refuse:   rocketReachRefuse,
	decorate: func(*call, *answer) {},
	limits: []strict.Limit{
		{Name: "second", Shape: strict.Fixed, Amount: 10, Window: time.Second},
		{Name: "minute", Shape: strict.Fixed, Amount: 250, Window: time.Minute, Operations: []string{"person"}},
		{Name: "hour", Shape: strict.Fixed, Amount: 2500, Window: time.Hour, Operations: []string{"person"}},
		{Name: "day", Shape: strict.Day, Amount: 10_000, Operations: []string{"person"}},
		{Name: "month", Shape: strict.Month, Amount: 200_000, Operations: []string{"person"}},
	},
	prices: map[string]int64{"person": 300_000, "company": 150_000}, // invented: no list is published
	data: Data{
		Knowledge: truth.Knowledge{Miss: 0.2, Partial: 0.1, Gaps: 0.1, Attributes: map[string]float64{"person.phone": 0.5}},
		Pending:   Pending{Share: 0.4},
	},
	pendingFor: 6 * time.Second,
}

func rocketReachPerson(c *call) answer {
	address := truth.Fold(c.query.Get("email"))
	if !strings.Contains(address, "@") {
		return c.invalid("email")
	}
	id := int64(c.chance("profile", address) >> 34)
	if c.later("person", address) {
		text := strconv.FormatInt(id, 10)
		state, _ := c.vendor.jobs.poll(text, c.now, 0)
		if state == noJob {
			c.begin(text, job{subjects: []string{address}})
		}
		if state != jobDone {
			c.asked(address)
			return answer{outcome: enrich.Pending, status: http.StatusOK, body: object{
				{"id", id}, {"status", rocketReachBusy(c, address)}, {"name", nil}, {"emails", list{}}, {"phones", list{}},
			}}
		}
	}
	profile, outcome := rocketReachProfile(c, id, address)
	if outcome == enrich.Miss {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if outcome == enrich.Hit && !c.pay("person", address, credit, false) {
		return c.spent() // failed searches are free
	}
	return answer{outcome: outcome, status: http.StatusOK, body: profile}
}

// rocketReachBusy is one of the words for a search under way.
func rocketReachBusy(c *call, address string) string {
	words := []string{"progress", "searching", "not queued"}
	return words[c.chance("busy", address)%uint64(len(words))]
}

// rocketReachPoll answers with one record for every id asked for.
func rocketReachPoll(c *call) answer {
	records := list{}
	outcome := enrich.Expired
	for i, text := range strings.Split(c.query.Get("ids"), ",") {
		text = strings.TrimSpace(text)
		id, err := strconv.ParseInt(text, 10, 64)
		if err != nil || i >= 100 {
			return c.invalid("ids")
		}
		state, j := c.poll(text)
		var record object
		got := enrich.Pending
		switch state {
		case noJob:
			continue
		case jobTooSoon:
			return c.refuse(refusal{outcome: enrich.RateLimited, limit: "poll"})
		case jobRunning:
			c.asked(j.subjects[0])
			record = object{{"id", id}, {"status", rocketReachBusy(c, j.subjects[0])}}
		case jobDone:
			record, got = rocketReachProfile(c, id, j.subjects[0])
			if got == enrich.Hit && !j.read && !c.pay("person", j.subjects[0], credit, false) {
				return c.spent()
			}
		}
		records = append(records, record)
		if len(records) == 1 {
			outcome = got
		}
	}
	if len(records) == 0 {
		a := c.refuse(refusal{outcome: enrich.Miss})
		a.outcome = enrich.Expired
		return a
	}
	return answer{outcome: outcome, status: http.StatusOK, body: records}
}

// rocketReachProfile is a finished record. A thin one is a search that failed
// to find contact data; of nobody it is empty.
func rocketReachProfile(c *call, id int64, address string) (object, enrich.Outcome) {
	p, known := c.person(address)
	if known < truth.Thin {
		return object{{"id", id}, {"status", "failed"}, {"name", nil}, {"emails", list{}}, {"phones", list{}}}, enrich.Miss
	}
	status := "complete"
	emails, phones := list{}, list{}
	if known == truth.Thin {
		status = "failed"
	} else {
		emails = rocketReachEmails(p)
		if p.MobilePhone != "" {
			phones = append(phones, rocketReachPhone(p.MobilePhone, "mobile", false))
		}
		if p.Phone != "" {
			phones = append(phones, rocketReachPhone(p.Phone, "direct dial", true))
		}
	}
	region := ""
	if len(p.Place.RegionCode) <= 3 {
		region = p.Place.RegionCode
	}
	return object{
		{"id", id},
		{"status", status},
		{"name", orNull(p.FullName)},
		{"linkedin_url", orNull(profile("in", p.LinkedIn))},
		{"location", orNull(joined(p.Place.City, p.Place.Region, p.Place.Country))},
		{"city", orNull(p.Place.City)},
		{"region", orNull(region)},
		{"country_code", orNull(p.Place.CountryCode)},
		{"current_title", orNull(p.Title)},
		{"current_employer", orNull(p.CompanyName)},
		{"current_employer_domain", orNull(p.CompanyDomain)},
		{"current_employer_industry", orNull(p.Employer.Industry)},
		{"current_employer_linkedin_url", orNull(profile("company", p.Employer.LinkedIn))},
		{"recommended_email", orNull(p.Address)},
		{"current_work_email", orNull(p.Address)},
		{"emails", emails},
		{"phones", phones},
		{"job_history", list{
			object{{"title", "Trainee"}, {"highest_level", "Entry"}, {"department", "Other"}, {"is_current", false}},
			object{
				{"title", orNull(p.Title)},
				{"highest_level", orNull(rocketReachLevels[p.Seniority])},
				{"department", orNull(rocketReachDepartments[p.Department])},
				{"is_current", true},
			},
		}},
	}, found(known == truth.Thin)
}

func rocketReachEmails(p truth.Person) list {
	entry := func(address, valid, kind, grade string) object {
		return object{{"email", address}, {"smtp_valid", orNull(valid)}, {"type", kind}, {"grade", orNull(grade)}, {"last_validation_check", "2026-01-31"}}
	}
	kind := "professional"
	switch {
	case p.EmailStatus == "disposable":
		kind = "disposable"
	case truth.FreeMail(truth.DomainOf(p.Address)):
		kind = "personal"
	}
	return list{
		entry("previous@elsewhere.example", "invalid", "personal", "F"),
		entry(p.Address, rocketReachStatus[p.EmailStatus], kind, "A"),
	}
}

func rocketReachPhone(number, kind string, recommended bool) object {
	return object{{"number", spacedPhone(number)}, {"e164", number}, {"extension", nil}, {"type", kind}, {"recommended", recommended}, {"grade", "A"}}
}

func rocketReachCompany(c *call) answer {
	domain := truth.Fold(c.query.Get("domain"))
	if domain == "" {
		return c.invalid("domain")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	region := company.Place.RegionCode
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"id", int64(c.chance("company", domain) >> 34)},
		{"name", orNull(company.Name)},
		{"domain", orNull(company.Domain)},
		{"description", orNull(company.Description)},
		{"num_employees", numberOrNull(company.Employees)},
		{"revenue", numberOrNull(company.RevenueUSD)},
		{"industry", orNull(capitalised(company.Industry))},
		{"techstack", company.Technologies},
		{"year_founded", numberOrNull(company.Founded)},
		{"phone", orNull(company.Phone)},
		{"links", object{{"linkedin", orNull(profile("company", company.LinkedIn))}}},
		{"address", object{
			{"city", orNull(company.Place.City)},
			{"region", orNull(company.Place.Region)},
			{"region_code", orNull(region)},
			{"country", orNull(company.Place.Country)},
			{"country_code", orNull(company.Place.CountryCode)},
		}},
	}}
}

func rocketReachAccount(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"lookup_credit_balance", c.creditsLeft()}}}
}

// The vendor's words for ours.
var (
	rocketReachStatus = map[string]string{
		"valid": "valid", "invalid": "invalid", "accept_all": "accept-all", "unknown": "unknown", "disposable": "unknown",
	}
	rocketReachLevels = map[string]string{
		"owner": "Owner", "founder": "Founder", "c_suite": "C-Level", "partner": "Partner", "vp": "VP", "head": "Head",
		"director": "Director", "manager": "Manager", "senior": "Senior", "entry": "Entry", "intern": "Intern",
	}
	rocketReachDepartments = map[string]string{
		"engineering": "Engineering", "product": "Product Management", "design": "Design", "marketing": "Marketing",
		"sales": "Sales", "support": "Customer Success", "operations": "Operations", "finance": "Finance",
		"hr": "Human Resources", "legal": "Legal", "it": "Information Technology", "data": "Data Science",
		"education": "Education", "medical": "Health", "other": "Consulting",
	}
)

func rocketReachRefuse(c *call, r refusal) answer {
	say := func(status int, message string) answer {
		return answer{status: status, body: object{{"status", status}, {"message", message}}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusNotFound, "No profile found")
	case enrich.RateLimited, enrich.Blocked:
		ready, spoken := c.hint(r)
		seconds := strconv.FormatInt(wholeSeconds(ready.Sub(c.now)), 10)
		if !spoken {
			return say(http.StatusTooManyRequests, "Request was throttled.")
		}
		a := say(http.StatusTooManyRequests, "Request was throttled. Expected available in "+seconds+" seconds.")
		a.header("Retry-After", seconds)
		return a
	case enrich.QuotaExhausted:
		return answer{status: http.StatusPaymentRequired, body: object{{"code", "insufficient_credits"}, {"message", "You have no credits left"}}}
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "The API key is "+r.reason)
	case enrich.InvalidInput:
		return answer{status: http.StatusBadRequest, body: object{{firstText(r.reason, "detail"), []string{"This value is not valid."}}}}
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "Internal server error")
}
