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

// zeroBounce is the dialect of ZeroBounce, API v2: a bad key and spent credits
// are the same text in a 200, and misbehaviour blocks. What its pages leave
// open is taken so: a block is 429.
var zeroBounce = &dialect{
	name:   "zerobounce",
	prefix: "/v2",
	routes: []route{
		{method: "GET", path: "/validate", operation: "verify", billed: true, answer: zeroBounceValidate},
		{method: "GET", path: "/getcredits", operation: "account", answer: zeroBounceCredits},
	},
	key:      func(c *call) string { return c.query.Get("api_key") },
	refuse:   zeroBounceRefuse,
	decorate: func(*call, *answer) {},
	limits:   []strict.Limit{{Name: "10s", Shape: strict.Sliding, Amount: 80_000, Window: 10 * time.Second}},
	bans: []strict.Ban{
		{After: 1, Within: 10 * time.Second, For: time.Minute},
		{After: 100, Within: time.Minute, For: time.Hour, On: []string{"invalid_input"}},
		{After: 200, Within: time.Hour, For: time.Hour, On: []string{"auth_failed"}},
	},
	prices: map[string]int64{"verify": 8_000},
}

// zeroBounceUnsure are the sub_statuses of an unknown status; all but the last
// speak of a failure that may pass.
var zeroBounceUnsure = []string{
	"greylisted", "mail_server_temporary_error", "mail_server_did_not_respond", "timeout_exceeded", "antispam_system",
}

func zeroBounceValidate(c *call) answer {
	address := truth.Fold(c.query.Get("email"))
	if address == "" {
		return c.invalid("email is required")
	}
	c.asked(address)
	p, _ := c.vendor.world.Person(address)
	if !strings.Contains(address, "@") {
		p = truth.Person{Address: address, EmailStatus: "invalid"}
	}
	status, sub := p.EmailStatus, ""
	outcome := enrich.Hit
	switch p.EmailStatus {
	case "accept_all":
		status = "catch-all"
	case "role", "disposable":
		status, sub = "do_not_mail", map[string]string{"role": "role_based", "disposable": "disposable"}[p.EmailStatus]
	case "invalid":
		sub = "mailbox_not_found"
	case "unknown":
		choice := c.chance("sub", address) % uint64(len(zeroBounceUnsure)+1)
		if choice == uint64(len(zeroBounceUnsure)) {
			return answer{outcome: enrich.Temporary, status: http.StatusOK,
				body: object{{"Message", "The mail server is greylisting; try again later"}}}
		}
		sub = zeroBounceUnsure[choice]
		if sub != "antispam_system" {
			outcome = enrich.Temporary
		}
	}
	if status != "unknown" && !c.pay("verify", address, credit, false) {
		return c.spent()
	}
	domain := truth.DomainOf(address)
	return answer{outcome: outcome, status: http.StatusOK, body: object{
		{"address", address},
		{"status", status},
		{"sub_status", sub},
		{"account", strings.TrimSuffix(address, "@"+domain)},
		{"domain", domain},
		{"did_you_mean", nil},
		{"domain_age_days", "8426"},
		{"free_email", truth.FreeMail(domain)},
		{"mx_found", "True"},
		{"mx_record", "mx." + domain},
		{"smtp_provider", nil},
		{"firstname", orNull(p.FirstName)},
		{"lastname", orNull(p.LastName)},
		{"gender", nil},
		{"country", "Iceland"}, // of the IP address passed in, not of the person
		{"region", "Capital Region"},
		{"city", "Reykjavík"},
		{"zipcode", "101"},
		{"processed_at", c.now.UTC().Format("2006-01-02 15:04:05.000")},
	}}
}

func zeroBounceCredits(c *call) answer {
	return answer{outcome: enrich.Hit, status: http.StatusOK, body: object{{"Credits", strconv.FormatInt(c.creditsLeft(), 10)}}}
}

func zeroBounceRefuse(_ *call, r refusal) answer {
	say := func(status int, text string) answer { return answer{status: status, body: object{{"error", text}}} }
	switch r.outcome {
	case enrich.RateLimited:
		return say(http.StatusTooManyRequests, "Too many requests")
	case enrich.Blocked:
		return say(http.StatusTooManyRequests, "You are temporarily blocked")
	case enrich.QuotaExhausted, enrich.AuthFailed:
		return say(http.StatusOK, "Invalid API key or your account ran out of credits")
	case enrich.InvalidInput:
		return say(http.StatusBadRequest, r.reason)
	}
	return say(orStatus(r.status, http.StatusInternalServerError), "Internal server error")
}
