package fakevendor

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func two() Config {
	return Config{Seed: 1, Vendors: map[string]Vendor{"primary": all("peopledatalabs"), "secondary": all("hunter")}}
}

const findPrimary = "/primary/v5/person/enrich?email=" + ada

func TestControlSwitchesFaultsWhileRunning(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		faults := "/_control/vendors/primary/faults"
		for _, step := range []struct {
			body   string
			status int // of the vendor afterwards
		}{
			{`{"rules":[{"kind":"brownout","status":502}]}`, 502},
			{`{"rules":[{"kind":"storm"}]}`, 429},
			{`{"rules":[]}`, 200},
			{`{"latency":{"median":"60ms","sigma":0.4}}`, 200},
		} {
			if got := c.call("PUT", faults, step.body); got.status != 200 {
				t.Fatalf("%s: %d %s", step.body, got.status, got.body)
			}
			if got := c.call("GET", findPrimary, "", pdlHeader); got.status != step.status {
				t.Errorf("%s: the vendor answers %d, want %d", step.body, got.status, step.status)
			}
		}
		if got := c.call("PATCH", faults, `{"rules":[{"kind":"storm"}]}`); got.json(t, "latency.median") != "60ms" {
			t.Errorf("PATCH changed what it did not name: %s", got.body)
		}
		if got := c.call("GET", faults, ""); got.json(t, "rules.0.kind") != "storm" {
			t.Errorf("read back: %s", got.body)
		}
	})
}

func TestControlReadsTheLedger(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		c.call("GET", findPrimary, "", pdlHeader, "Idempotency-Key: abc")
		c.call("GET", "/primary/v5/person/enrich?email=info@blue-river.example", "", pdlHeader)
		first := c.call("GET", "/_control/ledger?vendor=primary&limit=1", "")
		for path, want := range map[string]any{
			"entries.0.outcome": "hit", "entries.0.idempotency_key": "abc", "entries.0.charged_micros": 280000.0, "after": 1.0,
			"entries.0.subject": c.server.SubjectID(ada), "entries.0.operation": "person", "entries.1": nil,
		} {
			if got := first.json(t, path); got != want {
				t.Errorf("%s is %v, want %v", path, got, want)
			}
		}
		if strings.Contains(first.body, "ada") {
			t.Errorf("the ledger gives an address away: %s", first.body)
		}
		if next := c.call("GET", "/_control/ledger?vendor=primary&after=1", ""); next.json(t, "entries.0.outcome") != "miss" || next.json(t, "entries.1") != nil {
			t.Errorf("next page: %s", next.body)
		}
		if got := c.call("GET", "/_control/summary", ""); got.json(t, "vendors.primary.calls") != 2.0 || got.json(t, "vendors.secondary.calls") != 0.0 {
			t.Errorf("summary: %s", got.body)
		}
		if got := c.call("POST", "/_control/reset", `{"vendors":["primary"],"ledger":true}`); got.status != 200 {
			t.Errorf("reset: %d %s", got.status, got.body)
		}
		if got := c.server.Summary("primary"); got.Calls != 0 {
			t.Errorf("%d calls after the reset", got.Calls)
		}
	})
}

func TestControlTellsTheTruth(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		got := c.call("POST", "/_control/truth", `{"subject":"`+ada+`"}`)
		vendor := c.call("GET", "/secondary/v2/people/find?api_key=k&email="+ada, "")
		var truth struct{ Facts map[string]any }
		if err := json.Unmarshal([]byte(got.body), &truth); err != nil {
			t.Fatal(err)
		}
		if truth.Facts["person.title"] != vendor.json(t, "data.employment.title") || truth.Facts["company.name"] != "Blue River" {
			t.Errorf("truth %s, vendor %s", got.body, vendor.body)
		}
	})
}

func TestControlRefusesAndChangesNothing(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		before := c.call("GET", "/_control/vendors/primary", "").body
		for _, test := range []struct {
			method, path, body, reason string
			status                     int
		}{
			{"PUT", "vendors/primary/faults", `{"rulez":[]}`, `unknown field "rulez"`, 400},
			{"PUT", "vendors/primary/faults", `{"rules":[{"kind":"explosion"}]}`, "faults.rules[0]: kind", 400},
			{"PUT", "vendors/primary/faults", `{"rules":[{"kind":"outage","share":2}]}`, "share: 2", 400},
			{"PUT", "vendors/primary/faults", `{"rules":[{"kind":"drift"}]}`, "fields", 400},
			{"PUT", "vendors/primary/faults", `{"rules":[{"kind":"outage"}`, "not JSON", 400},
			{"PUT", "vendors/primary/faults", `{"latency":{"median":60}}`, "Duration", 400},
			{"PUT", "vendors/primary/faults", `{"rules":[],"rules":[]}`, "already defined", 400},
			{"PUT", "vendors/primary/limits", `{"rules":[{"shape":"fixed","amount":1}]}`, "window", 400},
			{"PUT", "vendors/primary/limits", `{"rules":[{"shape":"fixed","amount":1,"window":"1m","operations":["dance"]}]}`, "dance", 400},
			{"PUT", "vendors/primary/limits", `{"hint":{"form":"smoke signals"}}`, "hint.form", 400},
			{"PUT", "vendors/primary/limits", `{"rules":[` + strings.Repeat(`{"shape":"sliding","amount":1000000,"window":"1s"},`, 20) +
				`{"shape":"sliding","amount":1000000,"window":"1s"}]}`, "more than 20000000", 400},
			{"PUT", "vendors/primary/data", `{"miss":1.5}`, "miss: 1.5", 400},
			{"PUT", "vendors/primary/data", `{"attributes":{"person.shoe_size":0.5}}`, "person.shoe_size", 400},
			{"PUT", "vendors/primary/account", `{"credits":-1}`, "credits", 400},
			{"PUT", "vendors/primary/account", `{"prices":{"dance":1}}`, "dance", 400},
			{"PUT", "vendors/tertiary/faults", `{}`, "primary, secondary", 404},
			{"PUT", "vendors/primary/mood", `{}`, "account, limits, data and faults", 404},
			{"PATCH", "vendors/primary/data", `{"miss":-0.1}`, "miss: -0.1", 400},
			{"POST", "reset", `{"vendors":["tertiary"],"ledger":true}`, "tertiary", 400},
			{"POST", "reset", "", "choose some", 400},
			{"POST", "truth", `{}`, "subject", 400},
			{"GET", "ledger?vendor=primary&after=-1", "", "after", 400},
			{"GET", "ledger", "", "no fake vendor", 400},
			{"GET", "ledger?vendor=primary&first=1", "", "unknown parameter", 400},
		} {
			got := c.call(test.method, "/_control/"+test.path, test.body)
			reason, _ := got.json(t, "error").(string)
			if got.status != test.status || !strings.Contains(reason, test.reason) {
				t.Errorf("%s %s %s: %d %q, want %d because of %s", test.method, test.path, test.body, got.status, reason, test.status, test.reason)
			}
		}
		if after := c.call("GET", "/_control/vendors/primary", "").body; after != before {
			t.Errorf("changed from %s to %s", before, after)
		}
	})
}

func TestEveryProblemOfABodyIsReported(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		got := c.call("PUT", "/_control/vendors/primary/data", `{"miss":7,"gaps":-1,"pending":{"for":"-1s"}}`)
		reason, _ := got.json(t, "error").(string)
		if strings.Count(reason, "\n") != 2 {
			t.Errorf("want three problems, got %q", reason)
		}
	})
}

func TestSettingsRoundTrip(t *testing.T) {
	bubble(t, only("prospeo", Vendor{}), func(t *testing.T, c *client) {
		for _, section := range []string{"account", "limits", "data", "faults"} {
			path := "/_control/vendors/prospeo/" + section
			before := c.call("GET", path, "").body
			if got := c.call("PUT", path, before); got.status != 200 || got.body != before {
				t.Errorf("%s: put back %s, got %d %s", section, before, got.status, got.body)
			}
		}
	})
}

func TestChangedLimitsBeginFreshAndCreditsAreFilled(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		find := func() int { return c.call("GET", findPrimary, "", pdlHeader).status }
		c.call("PUT", "/_control/vendors/primary/limits", `{"rules":[{"name":"m","shape":"fixed","amount":1,"window":"1m"}]}`)
		if first, second := find(), find(); first != 200 || second != 429 {
			t.Errorf("one a minute: %d, %d", first, second)
		}
		c.call("PUT", "/_control/vendors/primary/limits", `{"rules":[],"bans":[]}`)
		c.call("PATCH", "/_control/vendors/primary/account", `{"credits":1}`)
		if first, second := find(), find(); first != 200 || second != 402 {
			t.Errorf("one credit: %d, %d", first, second)
		}
		c.call("POST", "/_control/reset", `{"credits":true}`)
		if got := find(); got != 200 {
			t.Errorf("after the reset: %d", got)
		}
	})
}

func TestUnknownPathsAreNoVendorsAnswer(t *testing.T) {
	bubble(t, two(), func(t *testing.T, c *client) {
		for _, path := range []string{"/", "/tertiary/v5/person/enrich", "/primary/v5/person/guess", "/primary"} {
			if got := c.call("GET", path, ""); got.status != http.StatusNotImplemented {
				t.Errorf("%s: %d", path, got.status)
			}
		}
		if got := c.call("GET", "/primary/person/enrich?email="+ada, "", pdlHeader); got.status != 200 {
			t.Errorf("without the prefix that a base URL may hold: %d", got.status)
		}
	})
}

// FuzzControl sends arbitrary bodies to every section: none may panic, and
// what was refused must change nothing.
func FuzzControl(f *testing.F) {
	for _, seed := range []string{
		`{"rules":[{"kind":"brownout","share":0.5,"from":"1s","until":"2s"}]}`, `{"rules":[{"shape":"day","amount":5,"zone":"Europe/Berlin"}]}`,
		`{"miss":0.5,"attributes":{"person.phone":1}}`, `{"keys":["a"],"credits":5}`, `{"subject":"a@b.example"}`, `{}`, `[]`, `null`, `"x"`, `{"a":{"a":{"a":1}}}`,
		`{"rules":[{"kind":"sequence","statuses":[200,999]}]}`, `{"hint":{"form":"huge","wrong_by":"-5s"},"clock_skew":"8784h"}`,
	} {
		for section := range byte(6) {
			f.Add(section, seed)
		}
	}
	f.Fuzz(func(t *testing.T, section byte, body string) {
		server, err := New(two())
		if err != nil {
			t.Fatal(err)
		}
		send := func(method, path, body string) *httptest.ResponseRecorder {
			recorder := httptest.NewRecorder()
			server.ServeHTTP(recorder, httptest.NewRequest(method, "/_control/"+path, strings.NewReader(body)))
			return recorder
		}
		before := send("GET", "vendors/primary", "").Body.String()
		var got *httptest.ResponseRecorder
		switch section % 6 {
		case 4:
			got = send("POST", "truth", body)
		case 5:
			got = send("POST", "reset", body)
		default:
			got = send("PUT", "vendors/primary/"+[]string{"account", "limits", "data", "faults"}[section%4], body)
		}
		after := send("GET", "vendors/primary", "").Body.String()
		if got.Code != 200 && (got.Code != 400 || after != before) {
			t.Errorf("%d %s; before %s after %s", got.Code, got.Body, before, after)
		}
		if !json.Valid(got.Body.Bytes()) || !json.Valid([]byte(after)) {
			t.Errorf("answered what is not JSON: %s, %s", got.Body, after)
		}
	})
}
