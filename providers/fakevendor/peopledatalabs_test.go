package fakevendor

import (
	"net/http"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

const (
	pdlHeader   = "X-Api-Key: k"
	pdlPersonOf = "/peopledatalabs/v5/person/enrich?titlecase=true&email="
	ada         = "ada.north@blue-river.example"
)

func TestPeopleDataLabsWrapsPersonsAndNotCompanies(t *testing.T) {
	bubble(t, only("peopledatalabs", all("")), func(t *testing.T, c *client) {
		person := c.call("GET", pdlPersonOf+ada, "", pdlHeader)
		company := c.call("GET", "/peopledatalabs/v5/company/enrich?website=blue-river.example", "", pdlHeader)
		lower := c.call("POST", "/peopledatalabs/v5/person/enrich?email=nobody", `{"email":"`+ada+`"}`, pdlHeader)
		for _, want := range []struct {
			answer reply
			path   string
			value  any
		}{
			{person, "status", 200.0},
			{person, "data.full_name", "Ada North"},
			{person, "data.job_company_website", "blue-river.example"},
			{company, "data", nil},
			{company, "name", "blue river"},
			{company, "display_name", "Blue River"},
			{lower, "data.full_name", "ada north"},
		} {
			if got := want.answer.json(t, want.path); got != want.value {
				t.Errorf("%s: got %v, want %v", want.path, got, want.value)
			}
		}
		if likelihood := person.json(t, "likelihood").(float64); likelihood < 1 || likelihood > 10 {
			t.Errorf("likelihood %v", likelihood)
		}
		if url := person.json(t, "data.linkedin_url").(string); !strings.HasPrefix(url, "linkedin.com/in/") {
			t.Errorf("linkedin_url %q has a scheme", url)
		}
		if person.header.Get("x-call-credits-spent") != "1" || person.header.Get("x-call-credits-type") != "person" {
			t.Errorf("charge headers: %v", person.header)
		}
	})
}

func TestPeopleDataLabsRefuses(t *testing.T) {
	knowing := func(edit func(*Vendor)) Vendor {
		v := all("peopledatalabs")
		edit(&v)
		return v
	}
	none := int64(0)
	for _, test := range []struct {
		name    string
		vendor  Vendor
		path    string
		header  string
		status  int
		kind    string
		outcome enrich.Outcome
	}{
		{"miss", knowing(func(v *Vendor) { v.Data.Miss = 1 }), pdlPersonOf + ada, pdlHeader, 404, "not_found", enrich.Miss},
		{"shared mailbox", knowing(func(*Vendor) {}), pdlPersonOf + "info@blue-river.example", pdlHeader, 404, "not_found", enrich.Miss},
		{"required and absent", knowing(func(v *Vendor) { v.Data.Attributes = map[string]float64{"person.mobile_phone": 1} }),
			pdlPersonOf + ada + "&required=work_email+AND+mobile_phone", pdlHeader, 404, "not_found", enrich.Miss},
		{"too unlikely", knowing(func(v *Vendor) { v.Data.Partial = 1 }), pdlPersonOf + ada + "&min_likelihood=6", pdlHeader, 404, "not_found", enrich.Miss},
		{"no key", knowing(func(*Vendor) {}), pdlPersonOf + ada, "X-Other: k", 401, "authentication_error", enrich.AuthFailed},
		{"wrong key", knowing(func(v *Vendor) { v.Account.Keys = []string{"other"} }), pdlPersonOf + ada, pdlHeader, 401, "authentication_error", enrich.AuthFailed},
		{"no credits", knowing(func(v *Vendor) { v.Account.Credits = &none }), pdlPersonOf + ada, pdlHeader, 402, "payment_required", enrich.QuotaExhausted},
		{"no input", knowing(func(*Vendor) {}), "/peopledatalabs/v5/person/enrich", pdlHeader, 400, "invalid_request_error", enrich.InvalidInput},
		{"storm", knowing(func(v *Vendor) { v.Faults.Rules = []Fault{{Kind: Storm}} }), pdlPersonOf + ada, pdlHeader, 429, "rate_limit_error", enrich.RateLimited},
		{"brownout", knowing(func(v *Vendor) { v.Faults.Rules = []Fault{{Kind: Brownout, Status: 502}} }), pdlPersonOf + ada, pdlHeader, 502, "api_error", enrich.Temporary},
	} {
		t.Run(test.name, func(t *testing.T) {
			bubble(t, only("peopledatalabs", test.vendor), func(t *testing.T, c *client) {
				answer := c.call("GET", test.path, "", test.header)
				if answer.status != test.status || answer.json(t, "error.type") != test.kind {
					t.Errorf("answered %d %s, want %d %s", answer.status, answer.body, test.status, test.kind)
				}
				entry := c.server.Ledger("peopledatalabs", 0, 1)[0]
				if entry.Outcome != test.outcome || entry.Status != test.status || entry.ChargedMicros != 0 {
					t.Errorf("booked %+v, want outcome %s", entry, test.outcome)
				}
			})
		})
	}
}

func TestPeopleDataLabsOtherMethodIsNotAllowed(t *testing.T) {
	bubble(t, only("peopledatalabs", all("")), func(t *testing.T, c *client) {
		if answer := c.call("DELETE", pdlPersonOf+ada, "", pdlHeader); answer.status != http.StatusMethodNotAllowed {
			t.Errorf("answered %d", answer.status)
		}
	})
}

func TestPeopleDataLabsBillsMatchesOnly(t *testing.T) {
	bubble(t, only("peopledatalabs", all("")), func(t *testing.T, c *client) {
		c.call("GET", pdlPersonOf+ada, "", pdlHeader)
		c.call("GET", pdlPersonOf+ada, "", pdlHeader)
		c.call("GET", pdlPersonOf+"info@blue-river.example", "", pdlHeader)
		got := c.server.Summary("peopledatalabs")
		if got.Charged != 2 || got.Duplicates != 1 || got.ChargedMicros != 560_000 || got.Credits != 2 {
			t.Errorf("billed %+v", got)
		}
	})
}
