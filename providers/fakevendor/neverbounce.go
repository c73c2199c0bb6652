package fakevendor

import (
	"net/http"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// neverBounce is the dialect of NeverBounce, API v4.2: every refusal is a word
// in a 200. What its pages leave open is taken so: the throttle of 25 calls a
// second, which is the account's own.
var neverBounce = &dialect{
	name:   "neverbounce",
	prefix: "/v4.2",
	routes: []route{
		{method: "GET", path: "/single/check", operation: "verify", billed: true, answer: neverBounceCheck},
		{method: "POST", path: "/single/check", operation: "verify", billed: true, answer: neverBounceCheck},
		{method: "GET", path: "/account/info", operation: "account", answer: neverBounceAccount},
	},
	key:      func(c *call) string { return c.input("key") },
	refuse:   neverBounceRefuse,
	decorate: func(*call, *answer) {},
	limits:   []strict.Limit{{Name: "second", Shape: strict.TokenBucket, Amount: 25, Window: time.Second}},
	prices:   map[string]int64{"verify": 8_000},
}

func neverBounceCheck(c *call) answer {
	address := truth.Fold(c.input("email"))
	if address == "" {
		return c.invalid("Missing required parameter 'email'")
	}
	c.asked(address)
	p, _ := c.vendor.world.Person(address)
	if !strings.Contains(address, "@") {
		p = truth.Person{Address: address, EmailStatus: "invalid"}
	}
	flags := []string{"has_dns", "has_dns_mx"}
	result := p.EmailStatus
	switch result {
	case "accept_all":
		result = "catchall"
	case "role": // a flag, beside a valid result
		result, flags = "valid", append(flags, "role_account")
	}
	if truth.FreeMail(truth.DomainOf(address)) {
		flags = append(flags, "free_email_host")
	}
	if !c.pay("verify", address, credit, false) {
		return c.spent()
	}
	body := object{
		{"status", "success"},
		{"result", result},
		{"flags", flags},
		{"suggested_correction", ""},
		{"execution_time", 320},
	}
	if c.flag("credits_info") || c.query.Get("credits_info") == "1" {
		body = append(body, member{"credits_info", neverBounceCredits(c)})
	}
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: body}
}

func neverBounceCredits(c *call) object {
	return object{
		{"paid_credits_used", int(c.note.milli / credit)},
		{"free_credits_used", 0},
		{"paid_credits_remaining", c.creditsLeft()},
		{"free_credits_remaining", 0},
		{"monthly_api_usage", "0"},
	}
}

func neverBounceAccount(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK,
		body: object{{"status", "success"}, {"credits_info", neverBounceCredits(c)}, {"execution_time", 12}}}
}

func neverBounceRefuse(_ *call, r refusal) answer {
	say := func(word, message string) answer {
		return answer{status: http.StatusOK, body: object{{"status", word}, {"message", message}, {"execution_time", 5}}}
	}
	switch r.outcome {
	case enrich.RateLimited, enrich.Blocked:
		return say("throttle_triggered", "Too many requests in a short time")
	case enrich.QuotaExhausted:
		return say("general_failure", "Insufficient credit balance; the account needs more credits for this request")
	case enrich.AuthFailed:
		return say("auth_failure", "The key is "+r.reason)
	case enrich.InvalidInput:
		return say("general_failure", r.reason)
	}
	if r.status == 0 || r.status == http.StatusOK {
		return say("temp_unavail", "The service is not available for the moment")
	}
	return answer{status: r.status, body: object{{"status", "temp_unavail"}, {"message", "The service is not available for the moment"}}}
}
