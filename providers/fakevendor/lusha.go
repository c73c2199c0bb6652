package fakevendor

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// lusha is the dialect of Lusha, API v3: batches, whose results come in another
// order and carry the client's references. What its pages leave open is taken
// so: a look-up that finds nothing is free.
var lusha = &dialect{
	name:   "lusha",
	prefix: "/v3",
	routes: []route{
		{method: "POST", path: "/contacts/search-and-enrich", operation: "person", billed: true, entities: lushaCount("contacts"), answer: lushaContacts},
		{method: "POST", path: "/companies/search-and-enrich", operation: "company", billed: true, entities: lushaCount("companies"), answer: lushaCompanies},
	},
	key:      func(c *call) string { return c.request.Header.Get("api_key") },
	refuse:   lushaRefuse,
	decorate: lushaDecorate,
	limits: []strict.Limit{
		{Name: "minute", Shape: strict.Fixed, Amount: 300, Window: time.Minute},
		{Name: "hourly", Shape: strict.Fixed, Amount: 5000, Window: time.Hour},
		{Name: "daily", Shape: strict.Day, Amount: 50_000},
	},
	prices: map[string]int64{"person": 100_000, "company": 100_000}, // invented: no list is published
	data: Data{Knowledge: truth.Knowledge{Miss: 0.25, Partial: 0.1, Gaps: 0.1,
		Attributes: map[string]float64{"person.phone": 0.3, "person.mobile_phone": 0.4}}},
}

func lushaCount(name string) func(*call) int {
	return func(c *call) int { return max(1, len(c.items(name))) }
}

// lushaItem is the result for one item of a batch.
type lushaItem struct {
	fields  object
	code    string // of an item's error
	outcome enrich.Outcome
	charged milli
}

// lushaBatch answers every item, the last one first.
func lushaBatch(c *call, name string, each func(map[string]any) (lushaItem, bool)) answer {
	items := c.items(name)
	if len(items) == 0 || len(items) > 100 {
		return c.invalid(name + " must hold 1 to 100 items")
	}
	results := make(list, 0, len(items))
	outcome := enrich.Miss
	charged, returned := milli(0), 0
	for i, item := range items {
		reference := textOf(item, "clientReferenceId")
		if c.note.IdempotencyKey == "" {
			c.note.IdempotencyKey = clip(reference)
		}
		result, paid := each(item)
		if !paid {
			return c.spent()
		}
		if i == 0 {
			outcome = result.outcome
		}
		charged += result.charged
		head := object{{"clientReferenceId", orOmit(reference)}}
		if result.code != "" {
			head = append(head, member{"error", object{{"code", result.code}, {"message", "See the list of codes"}}})
		} else {
			returned++
		}
		results = append(results, append(head, result.fields...))
	}
	slices.Reverse(results)
	return answer{outcome: outcome, status: http.StatusOK, body: object{
		{"requestId", subjectText(c.chance("request", strconv.FormatUint(c.vendor.jobs.number(), 10)))},
		{"results", results},
		{"billing", object{{"creditsCharged", int64(charged / credit)}, {"resultsReturned", returned}}},
	}}
}

func lushaContacts(c *call) answer {
	reveal, _ := c.body["reveal"].([]any)
	emails, phones := slices.Contains(reveal, any("emails")), slices.Contains(reveal, any("phones"))
	return lushaBatch(c, "contacts", func(item map[string]any) (lushaItem, bool) {
		address := textOf(item, "email")
		if !strings.Contains(address, "@") {
			return lushaItem{code: "NOT_FOUND", outcome: enrich.InvalidInput}, true
		}
		p, known := c.person(address)
		switch known {
		case truth.Objected:
			return lushaItem{code: "COMPLIANCE_RESTRICTED", outcome: enrich.Suppressed}, true
		case truth.Nothing:
			return lushaItem{code: "NOT_FOUND", outcome: enrich.Miss}, true
		}
		result := lushaItem{outcome: found(known == truth.Thin)}
		before := c.note.milli
		numbers := list{}
		if phones {
			numbers = lushaPhones(p)
		}
		addresses := list{}
		if emails {
			addresses = list{object{{"email", p.Address}, {"type", "work"}, {"confidence", "A+"}}}
		}
		if !c.pay("person", "email "+address, credit, true) ||
			len(numbers) > 0 && !c.pay("person", "phone "+address, 5*credit, true) {
			return result, false
		}
		result.charged = c.note.milli - before
		result.fields = lushaContact(p, addresses, numbers)
		return result, true
	})
}

func lushaPhones(p truth.Person) list {
	numbers := list{}
	if p.MobilePhone != "" {
		numbers = append(numbers, object{{"number", p.MobilePhone}, {"type", "mobile"}, {"doNotCall", false}})
	}
	if p.Phone != "" {
		numbers = append(numbers, object{{"number", p.Phone}, {"type", "direct"}, {"doNotCall", false}})
	}
	return numbers
}

func lushaContact(p truth.Person, addresses, numbers list) object {
	return object{
		{"fullName", orNull(p.FullName)},
		{"firstName", orNull(p.FirstName)},
		{"lastName", orNull(p.LastName)},
		{"jobTitle", object{
			{"title", orNull(p.Title)},
			{"seniority", orNull(lushaSeniority[p.Seniority])},
			{"departments", oneOrNone(lushaDepartments[p.Department])},
		}},
		{"location", object{
			{"country", orNull(p.Place.Country)},
			{"countryIso2", orNull(p.Place.CountryCode)},
			{"state", orNull(p.Place.Region)},
			{"city", orNull(p.Place.City)},
			{"isEuContact", slices.Contains([]string{"DE", "FR", "SE"}, p.Place.CountryCode)},
		}},
		{"emails", addresses},
		{"phones", numbers},
		{"company", object{
			{"name", orNull(p.CompanyName)},
			{"domain", orNull(www(p.CompanyDomain))},
			{"industry", orNull(capitalised(p.Employer.Industry))},
		}},
		{"socialLinks", object{{"linkedin", orNull(profile("in", p.LinkedIn))}}},
	}
}

func lushaCompanies(c *call) answer {
	return lushaBatch(c, "companies", func(item map[string]any) (lushaItem, bool) {
		domain := textOf(item, "domain")
		company, known := c.company(domain)
		if known == truth.Nothing {
			return lushaItem{code: "NOT_FOUND", outcome: enrich.Miss}, true
		}
		before := c.note.milli
		paid := c.pay("company", domain, credit, true)
		return lushaItem{fields: lushaCompany(company), outcome: found(known == truth.Thin), charged: c.note.milli - before}, paid
	})
}

func lushaCompany(company truth.Company) object {
	low, high := edges(company.EmployeeRange)
	count := object{{"exact", numberOrNull(company.Employees)}, {"min", numberOrNull(low)}, {"max", numberOrNull(high)}}
	var revenue any
	for _, r := range truth.Revenues {
		if r.Name == company.RevenueRange {
			revenue = object{{"min", r.From}, {"max", numberOrNull(r.To)}}
		}
	}
	phones := list{}
	if company.Phone != "" {
		phones = list{object{{"number", company.Phone}}}
	}
	return object{
		{"name", orNull(company.Name)},
		{"domain", orNull(www(company.Domain))},
		{"alternativeDomains", []string{}},
		{"description", orNull(company.Description)},
		{"industry", orNull(capitalised(company.Industry))},
		{"employeeCount", count},
		{"yearFounded", numberOrNull(company.Founded)},
		{"revenueRange", revenue},
		{"technologies", company.Technologies},
		{"location", object{
			{"city", orNull(company.Place.City)},
			{"state", orNull(company.Place.Region)},
			{"stateCode", orNull(company.Place.RegionCode)},
			{"country", orNull(company.Place.Country)},
			{"countryIso2", orNull(company.Place.CountryCode)},
		}},
		{"socialLinks", object{{"linkedin", orNull(profile("company", company.LinkedIn))}}},
		{"phones", phones},
	}
}

// The vendor's words for ours.
var (
	lushaSeniority = map[string]string{
		"founder": "Founder", "c_suite": "C-Suite", "vp": "Vice President", "partner": "Partner", "director": "Director",
		"manager": "Manager", "senior": "Senior", "intern": "Intern",
	}
	lushaDepartments = map[string]string{
		"engineering": "Engineering & Technical", "it": "Information Technology", "product": "Product",
		"marketing": "Marketing", "sales": "Sales", "support": "Customer Service", "operations": "Operations",
		"finance": "Finance", "hr": "Human Resources", "legal": "Legal", "data": "Research & Analytics", "other": "Other",
	}
)

func lushaRefuse(_ *call, r refusal) answer {
	say := func(status int, message string) answer {
		return answer{status: status, body: object{{"statusCode", status}, {"message", message}}}
	}
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		return say(http.StatusTooManyRequests, "Too many requests")
	case enrich.QuotaExhausted:
		return say(http.StatusPaymentRequired, "You do not have enough credits")
	case enrich.AuthFailed:
		return say(http.StatusUnauthorized, "The API key is "+r.reason)
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "Internal server error")
}

// lushaDecorate adds the nine headers of three windows.
func lushaDecorate(c *call, a *answer) {
	for _, s := range c.states() {
		a.header("x-rate-limit-"+s.Name, strconv.FormatInt(s.Amount, 10))
		a.header("x-"+s.Name+"-requests-left", strconv.FormatInt(s.Remaining, 10))
		a.header("x-"+s.Name+"-usage", strconv.FormatInt(s.Amount-s.Remaining, 10))
	}
}
