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

// fullContact is the dialect of FullContact, API v3: it delays calls before it
// refuses any, and 403 is a bad key as well as spent credits. What its pages
// leave open is taken so: 400 for a bad input, and a miss is free.
var fullContact = &dialect{
	name:   "fullcontact",
	prefix: "/v3",
	routes: []route{
		{method: "POST", path: "/person.enrich", operation: "person", billed: true, answer: fullContactPerson},
		{method: "POST", path: "/company.enrich", operation: "company", billed: true, answer: fullContactCompany},
	},
	key:    func(c *call) string { return bearer(c.request) },
	refuse: fullContactRefuse,
	decorate: func(c *call, a *answer) {
		if c.set.Limits.Silent {
			return
		}
		a.header("X-FullContact-RateDelay", strconv.FormatInt(c.delayed.Milliseconds(), 10))
		a.header("X-Rate-Limit-Limit", "600")
		a.header("X-Rate-Limit-Remaining", "600")
		a.header("X-Rate-Limit-Reset", "60")
	},
	limits:   []strict.Limit{{Name: "minute", Shape: strict.TokenBucket, Amount: 6000, Burst: 100, Window: time.Minute}},
	patience: time.Second,
	prices:   map[string]int64{"person": 150_000, "company": 100_000}, // invented: no list is published
	data: Data{Knowledge: truth.Knowledge{Miss: 0.35, Partial: 0.1, Gaps: 0.2,
		Attributes: map[string]float64{"person.phone": 0.7}}},
	pendingFor: 30 * time.Second,
}

func fullContactPerson(c *call) answer {
	address := truth.Fold(textOf(c.body, "email"))
	if !strings.Contains(address, "@") {
		return c.invalid("Invalid email")
	}
	p, known := c.person(address)
	if textOf(c.body, "webhookUrl") != "" {
		return fullContactQueued()
	}
	if known < truth.Thin {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("person", address, credit, false) {
		return c.spent()
	}
	place := p.Place
	employment := list{}
	if p.CompanyName != "" {
		employment = list{object{{"name", p.CompanyName}, {"domain", orNull(p.CompanyDomain)}, {"title", orNull(p.Title)}, {"current", true}}}
	}
	phones := list{}
	if p.Phone != "" {
		phones = list{object{{"label", "work"}, {"value", p.Phone}}}
	}
	var details any
	if known == truth.Full {
		details = object{
			{"name", object{{"given", orNull(p.FirstName)}, {"family", orNull(p.LastName)}, {"full", orNull(p.FullName)}}},
			{"emails", list{object{{"label", "work"}, {"value", p.Address}}}},
			{"phones", phones},
			{"employment", employment},
			{"locations", fullContactLocations(place)},
		}
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"fullName", orNull(p.FullName)},
		{"location", orNull(joined(place.City, place.Region, place.Country))},
		{"title", orNull(p.Title)},
		{"organization", orNull(p.CompanyName)},
		{"linkedin", orNull(profile("in", p.LinkedIn))},
		{"email", nil},
		{"phone", orNull(p.Phone)},
		{"bio", nil},
		{"website", nil},
		{"details", details},
		{"updated", "2026-01-31"},
	}}
}

func fullContactCompany(c *call) answer {
	domain := truth.Fold(textOf(c.body, "domain"))
	if domain == "" {
		return c.invalid("Invalid domain")
	}
	company, known := c.company(domain)
	if textOf(c.body, "webhookUrl") != "" {
		return fullContactQueued()
	}
	if known == truth.Nothing {
		return c.refuse(refusal{outcome: enrich.Miss})
	}
	if !c.pay("company", domain, credit, false) {
		return c.spent()
	}
	phones := list{}
	if company.Phone != "" {
		phones = list{object{{"value", company.Phone}, {"label", "main"}}}
	}
	industries := list{}
	if company.Industry != "" {
		industries = list{object{{"type", "SIC"}, {"name", capitalised(company.Industry)}, {"code", "7372"}}}
	}
	website := any(nil)
	if company.Domain != "" {
		website = "https://www." + company.Domain
	}
	var details any
	if known == truth.Full {
		details = object{
			{"industries", industries},
			{"phones", phones},
			{"locations", fullContactLocations(company.Place)},
		}
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"name", orNull(company.Name)},
		{"location", orNull(joined(company.Place.City, company.Place.Region, company.Place.Country))},
		{"linkedin", orNull(profile("company", company.LinkedIn))},
		{"bio", orNull(company.Description)},
		{"website", website},
		{"founded", numberOrNull(company.Founded)},
		{"employees", numberOrNull(company.Employees)},
		{"category", orNull(capitalised(company.Industry))},
		{"details", details},
		{"updated", "2026-01-31"},
	}}
}

func fullContactLocations(place truth.Place) list {
	if place == (truth.Place{}) {
		return list{}
	}
	return list{object{
		{"city", orNull(place.City)},
		{"region", orNull(place.Region)},
		{"regionCode", orNull(place.RegionCode)},
		{"country", orNull(place.Country)},
		{"countryCode", orNull(place.CountryCode)},
		{"formatted", orNull(joined(place.City, place.Region, place.Country))},
	}}
}

// fullContactQueued is the answer to a call with a webhook, which is never
// called: the fake makes no calls of its own.
func fullContactQueued() answer {
	return answer{outcome: enrich.Pending, status: http.StatusAccepted,
		body: object{{"status", 202}, {"message", "Queued for search. You should receive a webhook message shortly"}}}
}

func fullContactRefuse(_ *call, r refusal) answer {
	say := func(status int, message string) answer {
		return answer{status: status, body: object{{"status", status}, {"message", message}}}
	}
	switch r.outcome {
	case enrich.Miss:
		return say(http.StatusNotFound, "Profile not found")
	case enrich.RateLimited, enrich.Blocked:
		return say(http.StatusTooManyRequests, "Rate limit exceeded")
	case enrich.QuotaExhausted:
		return say(http.StatusForbidden, "Usage limits for the given account have been exceeded")
	case enrich.AuthFailed:
		return say(http.StatusForbidden, "API key is "+r.reason)
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason)
	}
	return say(orStatus(r.status, http.StatusServiceUnavailable), "Service unavailable")
}
