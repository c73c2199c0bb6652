package fakevendor

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// limited is a vendor of the dialect under one limit.
func limited(dialect string, rules ...strict.Limit) Vendor {
	v := all(dialect)
	v.Limits.Rules = rules
	return v
}

var (
	tenASecond = strict.Limit{Name: "second", Shape: strict.TokenBucket, Amount: 10, Burst: 10, Window: time.Second}
	oneAMinute = strict.Limit{Name: "minute", Shape: strict.Fixed, Amount: 1, Window: time.Minute}
)

func TestALimitIsExactOverHTTP(t *testing.T) {
	v := limited("peopledatalabs", tenASecond)
	v.Faults.Latency = Latency{Median: 60 * time.Millisecond, Sigma: 0.4}
	bubble(t, only("pdl", v), func(t *testing.T, c *client) {
		var wait sync.WaitGroup
		for i := range 400 { // for ten seconds at four times the rate
			wait.Go(func() {
				time.Sleep(time.Duration(i) * 25 * time.Millisecond)
				c.call("GET", "/pdl/v5/person/enrich?email="+ada, "", pdlHeader)
			})
		}
		wait.Wait()
		got := c.server.Summary("pdl")
		// The last call comes at 9.975 s: the burst of 10 and 99 more.
		if in := got.ByOutcome[enrich.Hit]; in != 109 || got.RefusedBy["second"] != 400-109 || got.TooMany != 400-109 {
			t.Errorf("%d let in, %d refused, want 109 of 400", in, got.RefusedBy["second"])
		}
	})
}

func TestEveryKeyHasLimitsOfItsOwn(t *testing.T) {
	v := limited("peopledatalabs", oneAMinute)
	v.Account.Keys = []string{"a", "b"}
	bubble(t, only("pdl", v), func(t *testing.T, c *client) {
		for _, step := range []struct {
			key    string
			status int
		}{{"a", 200}, {"a", 429}, {"b", 200}, {"b", 429}, {"c", 401}} {
			if got := c.call("GET", "/pdl/v5/person/enrich?email="+ada, "", "X-Api-Key: "+step.key); got.status != step.status {
				t.Errorf("key %s: %d, want %d", step.key, got.status, step.status)
			}
		}
		keys := map[string]bool{}
		for _, entry := range c.server.Ledger("pdl", 0, 10) {
			keys[entry.Key] = true
			if len(entry.Key) != 12 {
				t.Errorf("key in the ledger: %q", entry.Key)
			}
		}
		if len(keys) != 3 {
			t.Errorf("the ledger knows %d keys, want 3", len(keys))
		}
	})
}

func TestHintsInEveryForm(t *testing.T) {
	ready := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC) // bubbles begin with the year
	for form, want := range map[string]string{
		"seconds": "60", "http_date": ready.Format(http.TimeFormat), "rfc850": "Saturday, 01-Jan-00 00:01:00 GMT",
		"asctime": "Sat Jan  1 00:01:00 2000", "absent": "none", "zero": "0", "negative": "-30", "fraction": "60.000",
		"past": "Fri, 31 Dec 1999 23:00:00 GMT", "huge": "99999999999999999999", "garbage": "soon", "empty": "",
		"dialect": "none",
	} {
		t.Run(form, func(t *testing.T) {
			v := limited("peopledatalabs", oneAMinute)
			v.Limits.Hint.Form = form
			bubble(t, only("pdl", v), func(t *testing.T, c *client) {
				c.call("GET", "/pdl/v5/person/enrich?email="+ada, "", pdlHeader)
				answer := c.call("GET", "/pdl/v5/person/enrich?email="+ada, "", pdlHeader)
				got := "none"
				if values := answer.header["Retry-After"]; len(values) > 0 {
					got = values[0]
				}
				if got != want {
					t.Errorf("Retry-After %q, want %q", got, want)
				}
				if own := answer.header.Get("x-ratelimit-reset"); (own == "2000-01-01T00:01:00.000Z") != (form == "dialect") {
					t.Errorf("the dialect's own hint is %q", own)
				}
			})
		})
	}
}

func TestAHintMayLie(t *testing.T) {
	v := limited("apollo", oneAMinute)
	v.Limits.Hint.WrongBy = -45 * time.Second
	bubble(t, only("apollo", v), func(t *testing.T, c *client) {
		c.do("apollo", dialectTests["apollo"].first, "x-api-key: k")
		if got := c.do("apollo", dialectTests["apollo"].first, "x-api-key: k").header.Get("Retry-After"); got != "15" {
			t.Errorf("Retry-After %q, want 15", got)
		}
	})
}

func TestDialectsHintInTheirOwnWay(t *testing.T) {
	for name, want := range map[string]string{
		"peopledatalabs": "X-Ratelimit-Reset: 2000-01-01T00:01:00.000Z",
		"apollo":         "Retry-After: 60",
		"clearbit":       "X-Ratelimit-Reset: 946684860",
		"rocketreach":    "Retry-After: 60",
		"prospeo":        "X-Minute-Reset-Seconds: 60",
		"lusha":          "X-Minute-Requests-Left: 0",
		"fullenrich":     "body: Try again in 1m",
	} {
		bubble(t, only(name, limited(name, oneAMinute)), func(t *testing.T, c *client) {
			c.do(name, dialectTests[name].first, dialectTests[name].header)
			answer := c.do(name, dialectTests[name].first, dialectTests[name].header)
			header, value, _ := strings.Cut(want, ": ")
			got := answer.header.Get(header)
			if header == "body" && strings.Contains(answer.body, value) {
				got = value
			}
			if got != value {
				t.Errorf("%s: %q, want %s in %v %s", name, got, want, answer.header, answer.body)
			}
		})
	}
}

func TestLimitHeadersCountDown(t *testing.T) {
	minute := strict.Limit{Name: "minute", Shape: strict.Fixed, Amount: 5, Window: time.Minute}
	for name, header := range map[string]string{
		"peopledatalabs": "x-ratelimit-remaining", "apollo": "x-minute-requests-left", "clearbit": "X-RateLimit-Remaining",
		"prospeo": "x-minute-request-left", "lusha": "x-minute-requests-left",
	} {
		bubble(t, only(name, limited(name, minute)), func(t *testing.T, c *client) {
			for _, want := range []string{"4", "3"} {
				got := c.do(name, dialectTests[name].first, dialectTests[name].header).header.Get(header)
				if name == "peopledatalabs" {
					got = strings.ReplaceAll(got, "'", `"`)
					want = fmt.Sprintf(`{"minute": %s}`, want)
				}
				if got != want {
					t.Errorf("%s: %s is %q, want %q", name, header, got, want)
				}
			}
		})
		silent := limited(name, minute)
		silent.Limits.Silent = true
		bubble(t, only(name, silent), func(t *testing.T, c *client) {
			if got := c.do(name, dialectTests[name].first, dialectTests[name].header).header.Get(header); got != "" {
				t.Errorf("%s is silent, but %s is %q", name, header, got)
			}
		})
	}
}

func TestTheVendorsClockIsItsOwn(t *testing.T) {
	v := limited("peopledatalabs", oneAMinute)
	v.Limits.ClockSkew = 250 * time.Millisecond
	bubble(t, only("pdl", v), func(t *testing.T, c *client) {
		find := func() reply { return c.call("GET", "/pdl/v5/person/enrich?email="+ada, "", pdlHeader) }
		time.Sleep(time.Minute - 251*time.Millisecond)
		if got := find().status; got != 200 {
			t.Errorf("in the vendor's first minute: %d", got)
		}
		time.Sleep(time.Millisecond)
		if got := find(); got.status != 200 || got.header.Get("Date") != "Sat, 01 Jan 2000 00:01:00 GMT" {
			t.Errorf("in its second, a quarter of a second before ours: %d at %s", got.status, got.header.Get("Date"))
		}
		time.Sleep(250 * time.Millisecond)
		if got := find().status; got != 429 {
			t.Errorf("in our second: %d", got)
		}
	})
}

func TestFullContactDelaysBeforeItRefuses(t *testing.T) {
	bubble(t, only("fullcontact", limited("fullcontact", strict.Limit{Name: "m", Shape: strict.TokenBucket, Amount: 2, Burst: 1, Window: time.Second})),
		func(t *testing.T, c *client) {
			find := dialectTests["fullcontact"]
			for _, want := range []struct {
				took  time.Duration
				delay string
			}{{0, "0"}, {500 * time.Millisecond, "500"}, {500 * time.Millisecond, "500"}} {
				began := time.Now()
				answer := c.do("fullcontact", find.first, find.header)
				if took := time.Since(began); answer.status != 200 || took != want.took || answer.header.Get("X-FullContact-RateDelay") != want.delay {
					t.Errorf("%d after %s, delay %s, want %s", answer.status, took, answer.header.Get("X-FullContact-RateDelay"), want.delay)
				}
			}
		})
	bubble(t, only("fullcontact", limited("fullcontact", strict.Limit{Name: "m", Shape: strict.Fixed, Amount: 0, Window: time.Minute})),
		func(t *testing.T, c *client) {
			began := time.Now()
			find := dialectTests["fullcontact"]
			if got := c.do("fullcontact", find.first, find.header).status; got != 429 || time.Since(began) != 0 {
				t.Errorf("%d after %s, want 429 at once", got, time.Since(began))
			}
		})
}

func TestZeroBounceBlocksBadRequests(t *testing.T) {
	v := all("zerobounce")
	v.Limits.Bans = nil // the published ones
	bubble(t, only("zerobounce", v), func(t *testing.T, c *client) {
		for range 100 {
			c.do("zerobounce", "GET /v2/validate?api_key=k", "")
		}
		if got := c.do("zerobounce", dialectTests["zerobounce"].first, ""); got.status != 429 {
			t.Errorf("after a hundred bad requests: %d %s", got.status, got.body)
		}
		time.Sleep(time.Hour)
		if got := c.do("zerobounce", dialectTests["zerobounce"].first, ""); got.status != 200 {
			t.Errorf("an hour later: %d", got.status)
		}
		if got := c.server.Summary("zerobounce"); got.ByOutcome[enrich.Blocked] != 1 || got.RefusedBy["ban"] != 1 {
			t.Errorf("booked %v, refused by %v", got.ByOutcome, got.RefusedBy)
		}
	})
}

func TestConcurrencyIsOfCallsUnderWay(t *testing.T) {
	v := limited("leadmagic", strict.Limit{Name: "under", Shape: strict.Concurrency, Amount: 6})
	v.Faults.Latency = Latency{Median: 400 * time.Millisecond}
	bubble(t, only("leadmagic", v), func(t *testing.T, c *client) {
		find := dialectTests["leadmagic"]
		var wait sync.WaitGroup
		for range 6 {
			wait.Go(func() {
				for range 5 { // each goes on as soon as it has its answer
					if got := c.do("leadmagic", find.first, find.header).status; got != 200 {
						t.Errorf("answered %d", got)
					}
				}
			})
		}
		wait.Wait()
		if got := c.server.Summary("leadmagic"); got.MostAtOnce != 6 || got.ByStatus[200] != 30 {
			t.Errorf("%d at once, %d answered", got.MostAtOnce, got.ByStatus[200])
		}
	})
}
