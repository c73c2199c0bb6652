package fakevendor

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// do makes a call of the form "POST /path body" to the vendor.
func (c *client) do(vendor, call, header string) reply {
	c.t.Helper()
	return c.send(newRequest("http://fake/"+vendor, call, header))
}

// newRequest is a call of the form "POST /path body" below a base URL.
func newRequest(base, call, header string) *http.Request {
	parts := strings.SplitN(call+" ", " ", 3)
	request := httptest.NewRequest(parts[0], base+parts[1], strings.NewReader(strings.TrimSpace(parts[2])))
	request.RequestURI = ""
	if name, value, ok := strings.Cut(header, ": "); ok {
		request.Header.Set(name, value)
	}
	return request
}

func (r reply) check(t *testing.T, name string, want refused) {
	t.Helper()
	if r.status != want.status {
		t.Errorf("%s: answered %d %s, want %d", name, r.status, r.body, want.status)
		return
	}
	var got any = r.body
	if want.path != "" {
		got = r.json(t, want.path)
	}
	if want.value == "?" && (got == nil || got == "") || want.value != "?" && got != want.value {
		t.Errorf("%s: %s is %v, want %v in %s", name, want.path, got, want.value, r.body)
	}
}

func TestEveryDialectIsTested(t *testing.T) {
	for _, name := range Dialects() {
		if _, ok := dialectTests[name]; !ok {
			t.Errorf("%s has no test", name)
		}
	}
	if len(dialectTests) != len(dialects) {
		t.Errorf("%d tests for %d dialects", len(dialectTests), len(dialects))
	}
}

func TestDialectsAnswerAsDocumented(t *testing.T) {
	for name, d := range dialectTests {
		t.Run(name, func(t *testing.T) {
			bubble(t, only(name, all("")), func(t *testing.T, c *client) {
				for _, e := range d.exchanges {
					answer := c.do(name, e.call, d.header)
					for path, want := range e.want {
						got := answer.json(t, path)
						if want == "?" && (got == nil || got == "") || want != "?" && got != want {
							t.Errorf("%s: %s is %v, want %v in %s", e.call, path, got, want, answer.body)
						}
					}
				}
			})
		})
	}
}

func TestDialectsRefuseInTheirOwnWords(t *testing.T) {
	none := int64(0)
	for name, d := range dialectTests {
		for _, test := range []struct {
			what    string
			edit    func(*Vendor)
			call    string
			want    refused
			outcome enrich.Outcome
		}{
			{"a full window", func(v *Vendor) {
				v.Limits.Rules = []strict.Limit{{Name: "minute", Shape: strict.Fixed, Window: time.Minute}}
			}, d.first, d.full, enrich.RateLimited},
			{"spent credits", func(v *Vendor) { v.Account.Credits = &none }, d.first, d.spent, enrich.QuotaExhausted},
			{"a failure", func(v *Vendor) { v.Faults.Rules = []Fault{{Kind: Brownout}} }, d.first, d.failed, enrich.Temporary},
			{"a bad input", func(*Vendor) {}, d.bad, d.badIs, enrich.InvalidInput},
			{"a wrong key", func(v *Vendor) { v.Account.Keys = []string{"another"} }, d.first, refused{d.noKey.status, d.noKey.path, "?"}, enrich.AuthFailed},
		} {
			t.Run(name+"/"+test.what, func(t *testing.T) {
				v := all("")
				test.edit(&v)
				bubble(t, only(name, v), func(t *testing.T, c *client) {
					c.do(name, test.call, d.header).check(t, test.what, test.want)
					if got := c.server.Ledger(name, 0, 1)[0]; got.Outcome != test.outcome || got.ChargedMicros != 0 {
						t.Errorf("booked as %s for %d micros, want %s for nothing", got.Outcome, got.ChargedMicros, test.outcome)
					}
				})
			})
		}
		t.Run(name+"/no key", func(t *testing.T) {
			bubble(t, only(name, all("")), func(t *testing.T, c *client) {
				call := strings.NewReplacer("?api_key=k&", "?", "?key=k&", "?").Replace(d.first)
				c.do(name, call, "").check(t, "no key", d.noKey)
			})
		})
		if d.miss != nil {
			t.Run(name+"/a miss", func(t *testing.T) {
				v := all("")
				v.Data.Miss = 1
				bubble(t, only(name, v), func(t *testing.T, c *client) {
					c.do(name, d.first, d.header).check(t, "miss", *d.miss)
					if got := c.server.Ledger(name, 0, 1)[0]; got.Outcome != enrich.Miss || (got.ChargedMicros != 0) != (name == "clearbit") {
						t.Errorf("booked as %s for %d micros", got.Outcome, got.ChargedMicros)
					}
				})
			})
		}
	}
}

func TestDialectsNameTheirOperationsOnce(t *testing.T) {
	for name, d := range dialects {
		for operation := range d.prices {
			if !slices.Contains(d.operations(), operation) {
				t.Errorf("%s prices %q, which it does not offer", name, operation)
			}
		}
		if err := (Vendor{Dialect: name, Limits: Limits{Rules: d.limits, Bans: d.bans}, Data: &d.data}).problems(name); err != nil {
			t.Errorf("%s: its own defaults: %v", name, err)
		}
	}
}
