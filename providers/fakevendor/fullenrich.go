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

// fullEnrich is the dialect of FullEnrich, API v2: 400 may be pending, 402
// carries data, 404 is a lost job. What its pages leave open is taken so: the
// texts, and that an item without credits has no profile.
var fullEnrich = &dialect{
	name:   "fullenrich",
	prefix: "/api/v2",
	routes: []route{
		{method: "POST", path: "/contact/reverse/email/bulk", operation: "submit", entities: fullEnrichCount, answer: fullEnrichReverse},
		{method: "GET", path: "/contact/reverse/email/bulk", parameter: true, operation: "poll", answer: fullEnrichReversePoll},
		{method: "POST", path: "/contact/enrich/bulk", operation: "contact", entities: fullEnrichCount, answer: fullEnrichContact},
		{method: "GET", path: "/contact/enrich/bulk", parameter: true, operation: "contact-poll", answer: fullEnrichContactPoll},
		{method: "POST", path: "/company/lookup", operation: "company", billed: true, answer: fullEnrichCompany},
		{method: "GET", path: "/account/credits", operation: "account", answer: fullEnrichCredits},
	},
	key:        func(c *call) string { return bearer(c.request) },
	refuse:     fullEnrichRefuse,
	decorate:   func(*call, *answer) {},
	limits:     []strict.Limit{{Name: "minute", Shape: strict.Fixed, Amount: 60, Window: time.Minute}},
	prices:     map[string]int64{"submit": 55_000, "contact": 55_000, "company": 55_000}, // invented: prices go by plan
	data:       Data{Knowledge: truth.Knowledge{Miss: 0.15, Partial: 0.05, Gaps: 0.05}, Pending: Pending{KeptFor: 90 * 24 * time.Hour}},
	pendingFor: time.Minute,
}

func fullEnrichCount(c *call) int { return max(1, len(c.items("data"))) }

func fullEnrichReverse(c *call) answer {
	return fullEnrichSubmit(c, "reverse", func(item map[string]any) string {
		address := textOf(item, "email")
		if !strings.Contains(address, "@") {
			return ""
		}
		return truth.Fold(address)
	})
}

func fullEnrichContact(c *call) answer {
	return fullEnrichSubmit(c, "contact", func(item map[string]any) string {
		first := firstText(textOf(item, "firstname"), textOf(item, "first_name"))
		last := firstText(textOf(item, "lastname"), textOf(item, "last_name"))
		domain := textOf(item, "domain")
		if first == "" || last == "" || domain == "" {
			return ""
		}
		return truth.Fold(first + "." + last + "@" + domain)
	})
}

// fullEnrichSubmit begins a job over the addresses that the items ask for.
func fullEnrichSubmit(c *call, kind string, address func(map[string]any) string) answer {
	items := c.items("data")
	switch {
	case textOf(c.body, "name") == "":
		return c.invalid("error.enrichment.name.empty")
	case len(items) == 0:
		return c.invalid("error." + kind + ".email.empty")
	case len(items) > 100:
		return c.invalid("error." + kind + ".email.too_many")
	}
	j := job{items: items}
	for _, item := range items {
		subject := address(item)
		if subject == "" {
			return c.invalid("error." + kind + ".email.invalid")
		}
		j.subjects = append(j.subjects, subject)
		c.asked(subject)
	}
	if echo := fullEnrichCustom(items[0]); len(echo) > 0 && c.note.IdempotencyKey == "" {
		text, _ := echo[0].value.(string)
		c.note.IdempotencyKey = clip(text)
	}
	bits := c.chance(kind, strconv.FormatUint(c.vendor.jobs.number(), 10))
	id := fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", bits>>32, bits>>16&0xffff, bits&0xfff, bits>>20&0xfff, bits>>16)
	c.begin(kind+" "+id, j)
	return answer{outcome: enrich.Pending, status: http.StatusOK, body: object{{"enrichment_id", id}}}
}

func fullEnrichReversePoll(c *call) answer {
	state, j := c.poll("reverse " + c.parameter)
	if state == jobRunning {
		return answer{outcome: enrich.Pending, status: http.StatusOK, body: object{
			{"id", c.parameter}, {"name", "lookup"}, {"status", fullEnrichBusy(j)}, {"cost", object{{"credits", 0}}}, {"data", list{}},
		}}
	}
	return fullEnrichResult(c, state, j, "submit", "error.reverse.email.not_found", false)
}

func fullEnrichContactPoll(c *call) answer {
	state, j := c.poll("contact " + c.parameter)
	if state == jobRunning {
		return answer{outcome: enrich.Pending, status: http.StatusBadRequest, body: object{
			{"code", "error.enrichment.in_progress"}, {"message", "The enrichment is in progress, try again in 30 seconds"},
		}}
	}
	return fullEnrichResult(c, state, j, "contact", "error.enrichment.not_found", true)
}

// fullEnrichBusy is the state of a job under way: just made, or at work.
func fullEnrichBusy(j job) string {
	if j.polled.IsZero() {
		return "CREATED"
	}
	return "IN_PROGRESS"
}

// fullEnrichResult is what a job that is not under way answers. Results are
// billed when they are first read; what the credits do not reach for is billed
// when they do.
func fullEnrichResult(c *call, state jobState, j job, operation, unknown string, contact bool) answer {
	switch state {
	case noJob:
		return answer{outcome: enrich.Expired, status: http.StatusNotFound,
			body: object{{"code", unknown}, {"message", "The enrichment was not found"}}}
	case jobTooSoon:
		return c.refuse(refusal{outcome: enrich.RateLimited, limit: "poll"})
	}
	word, status := "FINISHED", http.StatusOK
	outcome := enrich.Miss
	before := c.note.milli
	records := make(list, 0, len(j.items))
	for i, item := range j.items {
		p, known := c.person(j.subjects[i])
		record := object{{"input", fullEnrichInput(item)}, {"custom", fullEnrichCustom(item)}}
		if known >= truth.Thin && !c.pay(operation, j.subjects[i], credit, true) {
			word, status, known = "CREDITS_INSUFFICIENT", http.StatusPaymentRequired, truth.Nothing
		}
		if known >= truth.Thin {
			record = append(record, member{"profile", fullEnrichProfile(p)})
			if contact {
				record = append(record, member{"contact_info", fullEnrichContactInfo(p)})
			}
			if i == 0 {
				outcome = found(known == truth.Thin)
			}
		}
		records = append(records, record)
	}
	if status == http.StatusPaymentRequired {
		outcome = enrich.QuotaExhausted
	}
	return answer{outcome: outcome, status: status, body: object{
		{"id", c.parameter},
		{"name", "lookup"},
		{"status", word},
		{"cost", object{{"credits", int64((c.note.milli - before) / credit)}}},
		{"data", records},
	}}
}

func fullEnrichInput(item map[string]any) object {
	return object{{"email", orOmit(textOf(item, "email"))}, {"domain", orOmit(textOf(item, "domain"))}}
}

// fullEnrichCustom gives the client's own texts back.
func fullEnrichCustom(item map[string]any) object {
	custom, _ := item["custom"].(map[string]any)
	echo := object{}
	for _, name := range sortedKeys(custom) {
		if text, ok := custom[name].(string); ok && len(echo) < 10 {
			echo = append(echo, member{name, text})
		}
	}
	return echo
}

func fullEnrichCompany(c *call) answer {
	domain := textOf(c.body, "domain")
	if domain == "" {
		return c.invalid("error.company.domain.empty")
	}
	company, known := c.company(domain)
	if known == truth.Nothing {
		return answer{outcome: enrich.Miss, status: http.StatusOK,
			body: object{{"companies", list{}}, {"metadata", object{{"credits", 0}}}}}
	}
	before := c.note.milli
	if !c.pay("company", domain, credit/4, true) {
		return c.spent()
	}
	return answer{outcome: found(known == truth.Thin), status: http.StatusOK, body: object{
		{"companies", list{fullEnrichCompanyData(company)}},
		{"metadata", object{{"credits", float64(c.note.milli-before) / float64(credit)}}},
	}}
}

func fullEnrichCredits(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"balance", c.creditsLeft()}}}
}

func fullEnrichRefuse(c *call, r refusal) answer {
	say := func(status int, code, message string) answer {
		return answer{status: status, body: object{{"code", code}, {"message", message}}}
	}
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		message := "Too many requests."
		if ready, spoken := c.hint(r); spoken {
			message += " Try again in " + textWait(ready.Sub(c.now))
		}
		return say(http.StatusTooManyRequests, "error.rate.limit", message)
	case enrich.QuotaExhausted:
		return say(http.StatusPaymentRequired, "error.credits.insufficient", "You don't have enough credits")
	case enrich.AuthFailed:
		if r.reason == "missing" {
			return say(http.StatusUnauthorized, "error.authorization.not_set", "The authorization header is not set")
		}
		return say(http.StatusUnauthorized, "error.api.key", "The API key is not valid")
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason, "The request is not valid")
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "error.internal", "Internal error")
}
