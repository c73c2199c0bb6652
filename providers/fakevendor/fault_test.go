package fakevendor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// hunterWith is a Hunter that has the given faults.
func hunterWith(rules ...Fault) Config {
	v := all("hunter")
	v.Faults.Rules = rules
	return only("hunter", v)
}

const findAda = "GET /v2/people/find?api_key=k&email=" + ada

func TestFaultsDamageTheAnswer(t *testing.T) {
	valid := func(r reply) bool { return json.Valid([]byte(r.body)) }
	for _, test := range []struct {
		fault   Fault
		outcome enrich.Outcome
		charged bool
		check   func(reply) bool
	}{
		{Fault{Kind: Outage}, enrich.Temporary, false, func(r reply) bool { return r.err != nil }},
		{Fault{Kind: Outage, Status: 503, RetryAfter: "7"}, enrich.Temporary, false,
			func(r reply) bool { return r.status == 503 && r.header.Get("Retry-After") == "7" }},
		{Fault{Kind: Brownout, Status: 502}, enrich.Temporary, false, func(r reply) bool { return r.status == 502 }},
		{Fault{Kind: Storm}, enrich.RateLimited, false, func(r reply) bool { return r.status == 403 }},
		{Fault{Kind: HTML}, enrich.Malformed, false,
			func(r reply) bool { return r.status == 200 && strings.HasPrefix(r.body, "<!DOCTYPE html>") }},
		{Fault{Kind: Redirect, Location: "https://elsewhere.example/"}, enrich.Malformed, false,
			func(r reply) bool { return r.status == 302 && r.header.Get("Location") == "https://elsewhere.example/" }},
		{Fault{Kind: Hang, Hold: time.Minute}, enrich.Timeout, true, func(r reply) bool { return r.err != nil }},
		{Fault{Kind: EarlyClose}, enrich.Malformed, true,
			func(r reply) bool { return r.status == 200 && r.err == io.ErrUnexpectedEOF && r.body != "" }},
		{Fault{Kind: Drip, Hold: time.Minute}, enrich.Hit, true, func(r reply) bool { return r.err == nil && valid(r) }},
		{Fault{Kind: Truncated}, enrich.Malformed, true, func(r reply) bool { return r.err == nil && r.body != "" && !valid(r) }},
		{Fault{Kind: Malformed}, enrich.Malformed, true, func(r reply) bool { return r.err == nil && !valid(r) }},
		{Fault{Kind: ContentType, ContentType: "text/csv"}, enrich.Hit, true,
			func(r reply) bool { return r.header.Get("Content-Type") == "text/csv" && valid(r) }},
		{Fault{Kind: Huge}, enrich.Malformed, true, func(r reply) bool { return len(r.body) == 10<<20 && valid(r) }},
		{Fault{Kind: GzipBomb, Size: 1 << 20}, enrich.Malformed, true,
			func(r reply) bool { return r.body == strings.Repeat(" ", 1<<20) }},
		{Fault{Kind: Drift, Fields: []string{"data.name.fullName"}}, enrich.Hit, true,
			func(r reply) bool { return strings.Contains(r.body, `"fullName_v2":"Ada North"`) }},
		{Fault{Kind: Drift, Fields: []string{"data.name.fullName"}, Change: "retype"}, enrich.Hit, true,
			func(r reply) bool { return strings.Contains(r.body, `"fullName":{"value":"Ada North"}`) }},
		{Fault{Kind: Drift, Fields: []string{"data.name", "no.such.field"}, Change: "remove"}, enrich.Hit, true,
			func(r reply) bool { return !strings.Contains(r.body, "fullName") && valid(r) }},
		{Fault{Kind: Drift, Fields: []string{"data.name"}, Change: "null"}, enrich.Hit, true,
			func(r reply) bool { return strings.Contains(r.body, `"name":null`) }},
	} {
		t.Run(fmt.Sprint(test.fault.Kind, " ", test.fault.Change, test.fault.Status), func(t *testing.T) {
			bubble(t, hunterWith(test.fault), func(t *testing.T, c *client) {
				if answer := c.do("hunter", findAda, ""); !test.check(answer) {
					t.Errorf("answered %d %.200q, %v", answer.status, answer.body, answer.err)
				}
				got := c.server.Ledger("hunter", 0, 1)[0]
				if got.Outcome != test.outcome || got.Fault != test.fault.Kind || (got.ChargedMicros > 0) != test.charged {
					t.Errorf("booked %+v, want %s", got, test.outcome)
				}
			})
		})
	}
}

func TestASequenceRolls(t *testing.T) {
	bubble(t, hunterWith(Fault{Kind: Sequence, Statuses: []int{200, 429, 500}}), func(t *testing.T, c *client) {
		var got []int
		for range 6 {
			got = append(got, c.do("hunter", findAda, "").status)
		}
		if want := []int{200, 403, 500, 200, 403, 500}; !slices.Equal(got, want) {
			t.Errorf("answered %v, want %v: Hunter says 403 for a full window", got, want)
		}
	})
}

func TestFaultsFollowTheirSchedule(t *testing.T) {
	rule := Fault{Kind: Outage, Status: 503, From: 10 * time.Second, Until: 20 * time.Second, Every: time.Minute, Operations: []string{"person"}}
	bubble(t, hunterWith(rule), func(t *testing.T, c *client) {
		begin := time.Now()
		for _, step := range []struct {
			at     time.Duration
			call   string
			status int
		}{
			{9 * time.Second, findAda, 200},
			{10 * time.Second, findAda, 503},
			{11 * time.Second, "GET /v2/companies/find?api_key=k&domain=blue-river.example", 200},
			{20 * time.Second, findAda, 200},
			{75 * time.Second, findAda, 503},
			{80 * time.Second, findAda, 200},
		} {
			time.Sleep(time.Until(begin.Add(step.at)))
			if got := c.do("hunter", step.call, "").status; got != step.status {
				t.Errorf("after %s: %d, want %d", step.at, got, step.status)
			}
		}
	})
}

func TestABrownoutFailsItsShareAndSlowsTheRest(t *testing.T) {
	v := all("hunter")
	v.Faults = Faults{
		Latency: Latency{Median: 60 * time.Millisecond},
		Rules:   []Fault{{Kind: Brownout, Share: 0.4, Latency: Latency{Median: time.Second}}},
	}
	run := func() (statuses []int) {
		bubble(t, only("hunter", v), func(t *testing.T, c *client) {
			for range 500 {
				began := time.Now()
				statuses = append(statuses, c.do("hunter", findAda, "").status)
				if took := time.Since(began); took != 1060*time.Millisecond {
					t.Fatalf("took %s", took)
				}
			}
		})
		return statuses
	}
	first := run()
	failed := 0
	for _, status := range first {
		if status == 503 {
			failed++
		}
	}
	if failed < 170 || failed > 230 {
		t.Errorf("%d of 500 failed, want about 200", failed)
	}
	if !slices.Equal(first, run()) {
		t.Error("another run under the same seed fails at other calls")
	}
}

func TestLatencyIsLogNormal(t *testing.T) {
	faults := Faults{Latency: Latency{Median: 100 * time.Millisecond, Sigma: 0.5, Max: 2 * time.Second}}
	drawn := make([]time.Duration, 20_000)
	for n := range drawn {
		drawn[n] = faults.strike(uint64(n), 1, 0, "").latency
	}
	slices.Sort(drawn)
	for _, test := range []struct {
		share    float64
		from, to time.Duration
	}{
		{0.5, 98 * time.Millisecond, 102 * time.Millisecond},
		{0.95, 220 * time.Millisecond, 235 * time.Millisecond}, // e^(1.645·0.5) = 2.28
		{0.05, 42 * time.Millisecond, 46 * time.Millisecond},
	} {
		if got := drawn[int(test.share*float64(len(drawn)))]; got < test.from || got > test.to {
			t.Errorf("P%.0f is %s, want %s to %s", 100*test.share, got, test.from, test.to)
		}
	}
	if last := drawn[len(drawn)-1]; last > 2*time.Second {
		t.Errorf("the slowest takes %s", last)
	}
}

func TestWhoLeavesIsStillBilled(t *testing.T) {
	v := all("hunter")
	v.Faults.Latency = Latency{Median: time.Minute}
	bubble(t, only("hunter", v), func(t *testing.T, c *client) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, "GET", "http://fake/hunter/v2/people/find?api_key=k&email="+ada, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.http.Do(request); err == nil {
			t.Error("answered within a second")
		}
		time.Sleep(time.Minute)
		got := c.server.Summary("hunter")
		if got.Abandoned != 1 || got.Charged != 1 || got.Last.IsZero() {
			t.Errorf("booked %+v", got)
		}
	})
}

func TestHangsEndWithTheServer(t *testing.T) {
	bubble(t, hunterWith(Fault{Kind: Hang, Hold: time.Hour}), func(t *testing.T, c *client) {
		go c.do("hunter", findAda, "")
		time.Sleep(time.Second)
		// The bubble ends, and with it the server: it would not while the call hung.
	})
}
