package fakevendor

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func TestHunterAnswersEveryCall(t *testing.T) {
	bubble(t, only("hunter", all("")), func(t *testing.T, c *client) {
		for _, test := range []struct{ call, path, want string }{
			{"people/find?email=" + ada, "data.name.fullName", "Ada North"},
			{"people/find?email=" + ada, "meta.params.email", ada},
			{"people/find?clearbit_format=true&email=" + ada, "name.fullName", "Ada North"},
			{"companies/find?domain=blue-river.example", "data.name", "Blue River"},
			{"companies/find?domain=blue-river.example", "data.linkedin.handle", "company/blue-river"},
			{"combined/find?email=" + ada, "data.person.name.givenName", "Ada"},
			{"combined/find?email=" + ada, "data.company.domain", "blue-river.example"},
			{"combined/find?email=info@blue-river.example", "data.company.domain", "blue-river.example"},
			{"email-verifier?email=" + ada, "data.status", "valid"},
			{"email-finder?domain=blue-river.example&full_name=Ada+North", "data.email", ada},
		} {
			answer := c.call("GET", "/hunter/v2/"+test.call, "", "X-API-KEY: k")
			if got := answer.json(t, test.path); answer.status != 200 || got != test.want {
				t.Errorf("%s: %d, %s is %v, want %s", test.call, answer.status, test.path, got, test.want)
			}
		}
		half := c.call("GET", "/hunter/v2/combined/find?email=info@blue-river.example&api_key=k", "")
		if half.json(t, "data.person") != nil {
			t.Errorf("a shared mailbox has a person: %s", half.body)
		}
	})
}

func TestHunterRefuses(t *testing.T) {
	none := int64(0)
	person := "people/find?api_key=k&email=" + ada
	for _, test := range []struct {
		name    string
		edit    func(*Vendor)
		call    string
		status  int
		outcome enrich.Outcome
	}{
		{"miss", func(v *Vendor) { v.Data.Miss = 1 }, person, 404, enrich.Miss},
		{"objection", func(v *Vendor) { v.Data.Suppressed = 1 }, person, 451, enrich.Suppressed},
		{"full window is 403", func(v *Vendor) { v.Faults.Rules = []Fault{{Kind: Storm}} }, person, 403, enrich.RateLimited},
		{"spent period is 429", func(v *Vendor) { v.Account.Credits = &none }, person, 429, enrich.QuotaExhausted},
		{"no key", func(*Vendor) {}, "people/find?email=" + ada, 401, enrich.AuthFailed},
		{"no input", func(*Vendor) {}, "people/find?api_key=k", 400, enrich.InvalidInput},
		{"failure", func(v *Vendor) { v.Faults.Rules = []Fault{{Kind: Brownout}} }, person, 503, enrich.Temporary},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := all("hunter")
			test.edit(&v)
			bubble(t, only("hunter", v), func(t *testing.T, c *client) {
				answer := c.call("GET", "/hunter/v2/"+test.call, "")
				if answer.status != test.status || answer.json(t, "errors.0.code") != float64(test.status) {
					t.Errorf("answered %d %s, want %d", answer.status, answer.body, test.status)
				}
				if answer.header.Get("Retry-After") != "" {
					t.Error("the vendor gives no hint")
				}
				if got := c.server.Ledger("hunter", 0, 1)[0].Outcome; got != test.outcome {
					t.Errorf("booked as %s, want %s", got, test.outcome)
				}
			})
		})
	}
}

func TestHunterVerifierAnswersLater(t *testing.T) {
	v := all("hunter")
	v.Data.Pending = Pending{Share: 1, For: 2 * time.Second}
	bubble(t, only("hunter", v), func(t *testing.T, c *client) {
		verify := func() int { return c.call("GET", "/hunter/v2/email-verifier?api_key=k&email="+ada, "").status }
		if first, second := verify(), verify(); first != 202 || second != 202 {
			t.Errorf("answered %d, then %d, want 202 until it is done", first, second)
		}
		time.Sleep(3 * time.Second)
		if status := verify(); status != 200 {
			t.Errorf("answered %d once it was done", status)
		}
		if got := c.server.Summary("hunter"); got.Charged != 1 || got.Credits != 0.5 {
			t.Errorf("billed %d calls, %v credits, want one half", got.Charged, got.Credits)
		}
	})
}
