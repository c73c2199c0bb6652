package providers

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func replayOne(t *testing.T, one string) string {
	t.Helper()
	cases, err := ReadCases([]byte(one))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := WriteResults(&out, Replay(NewLibrary(""), cases)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out.String())
}

func TestReplayOutput(t *testing.T) {
	for _, test := range []struct{ name, give, want string }{
		{
			"one object, a body as text, headers in lists",
			`{"name":"a","definition":"peopledatalabs","query":{"email":"jo@acme.example","fields":["person.full_name"]},"now":"2026-01-01T00:00:00Z",
			  "exchanges":[{"status":200,"headers":{"X-Call-Credits-Spent":[2]},"body":"{\"data\":{\"full_name\":\"jo & co\"}}"},{"status":500}]}`,
			`{"name":"a","outcome":"hit","facts":{"person.full_name":"Jo \u0026 Co"},"gaps":{},"drift":[],"charge":{"micros":560000,"known":true},"calls":1,"unused":1}`,
		},
		{
			"no answer to a step is a timeout",
			`{"name":"b","definition":"hunter","query":{"domain":"acme.example"},"now":"2026-01-01T00:00:00Z","exchanges":[]}`,
			`{"name":"b","outcome":"timeout","facts":{},"gaps":{},"drift":[],"charge":{"micros":0,"known":false},"calls":0,"unused":0}`,
		},
		{
			"the last answer repeats for a poll",
			`{"name":"c","definition":"hunter","query":{"email":"jo@acme.example","fields":["person.email_status"]},"now":"2026-01-01T00:00:00Z","exchanges":[{"status":202,"headers":{"Retry-After":"4"}}]}`,
			`{"name":"c","outcome":"pending","facts":{},"gaps":{},"drift":[],"wait_ms":4000,"charge":{"micros":0,"known":false},"calls":1,"unused":0}`,
		},
		{
			"a pause",
			`{"name":"d","definition":"hunter","query":{"domain":"acme.example"},"now":"2026-01-01T00:00:00Z","exchanges":[{"status":403,"headers":{"Retry-After":"0"}}]}`,
			`{"name":"d","outcome":"rate_limited","facts":{},"gaps":{},"drift":[],"wait_ms":0,"pause_until":"2026-01-01T00:00:00Z","charge":{"micros":0,"known":true},"calls":1,"unused":0}`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := replayOne(t, test.give); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestReplayErrors(t *testing.T) {
	for give, want := range map[string]string{
		`{"definition":"nobody"}`:                                                         "there is no definition",
		`{"definition":"hunter","query":{}}`:                                              "needs email or domain",
		`{"definition":"hunter","query":{"email":"nonsense"}}`:                            "query.email",
		`{"definition":"hunter","query":{"domain":"acme.example","fields":["person.x"]}}`: "no attribute",
	} {
		var result ReplayResult
		if err := json.Unmarshal([]byte(replayOne(t, give)), &struct{ Error *string }{&result.Error}); err != nil || !strings.Contains(result.Error, want) {
			t.Errorf("%s: %q %v", give, result.Error, err)
		}
	}
	if _, err := ReadCases([]byte(`[{"name":`)); err == nil {
		t.Error("half a file is accepted")
	}
}
