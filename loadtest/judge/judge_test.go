package judge_test

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/scenarios"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// madeUp is a run of 20 s at a vendor that allows 10 calls a second and, after
// ten seconds, 5: 90 calls were admitted, 10 refused, 5 met a fault, and one
// lead was asked for twice and billed twice. Refused calls came too early to
// have a subject.
func madeUp() judge.Evidence {
	var entries []fakevendor.Entry
	add := func(at time.Duration, subject string, change func(*fakevendor.Entry)) {
		entry := fakevendor.Entry{Time: began.Add(at), Request: subject, Subject: subject, Status: 200, Milliseconds: 100}
		change(&entry)
		entries = append(entries, entry)
	}
	for i := range 90 {
		subject := fmt.Sprint("lead", i)
		if i == 89 {
			subject = "lead0"
		}
		add(time.Duration(i)*200*time.Millisecond, subject, func(*fakevendor.Entry) {})
	}
	for i := range 10 {
		add(19*time.Second, fmt.Sprint("refused", i), func(e *fakevendor.Entry) { e.Status, e.Limit, e.Subject = 429, "rate", "" })
	}
	for i := range 5 {
		add(15*time.Second, fmt.Sprint("failed", i), func(e *fakevendor.Entry) { e.Status, e.Fault, e.Subject = 503, fakevendor.Outage, "" })
	}
	rate := func(amount int64) []strict.Limit {
		return []strict.Limit{{Name: "rate", Shape: strict.Fixed, Amount: amount, Window: time.Second}, {Name: "day", Shape: strict.Day, Amount: 1000}}
	}
	// What one replica has more of, the other has less of, but for what grows.
	var held, beside []judge.ProcessPoint
	for at := range 20 {
		usage := fleet.Usage{RSS: int64(50+at/10*50) << 20, Files: 40, Threads: int64(8 + at/15*2), Goroutines: int64(10 + at%5*100 + at/15*210)}
		held = append(held, judge.ProcessPoint{At: at, Usage: usage, CPU: float64(at) / 10})
		if usage.Goroutines = int64(10 + (4-at%5)*100); at == 18 {
			usage = fleet.Usage{} // it tells nothing
		}
		beside = append(beside, judge.ProcessPoint{At: at, Usage: usage})
	}
	return judge.Evidence{
		Began: began, Length: 20 * time.Second, RedisTrips: 400,
		Traffic: []judge.Traffic{{Name: "sales", Tally: drive.Tally{
			Asked: 210, Answered: 200, Codes: map[string]int64{"OK": 200, "Unavailable": 5},
			Tiers: map[string]int64{"memory": 60, "redis": 40, "vendor": 90}, Outcomes: map[string]int64{"complete": 190, "not_found": 10},
			Latencies: drive.Latencies{P50: 0.1, P95: 0.3},
		}, Examined: judge.Examined{Known: 195, Lost: 15, Fields: 760, Missing: 19, Compared: 190, Wrong: 2}}},
		Ledgers: []judge.Ledger{{
			Name:    "acme",
			Summary: fakevendor.Summary{Calls: 105, RateLimited: 10, TooMany: 10, Duplicates: 1, ChargedMicros: 9_000_000, RefusedBy: map[string]int64{"rate": 8, "day": 2}},
			Entries: entries,
			Quotas:  []judge.Quota{{From: began, Limits: rate(10)}, {From: began.Add(10 * time.Second), Limits: rate(5)}},
		}},
		Processes: []judge.Process{{Name: "replica 1", Points: held}, {Name: "replica 2", Points: beside}},
	}
}

func TestFiguresOfAMadeUpRun(t *testing.T) {
	r := judge.Judge(&scenario.Scenario{}, madeUp())
	for name, want := range map[string]float64{
		"answered": 200, "answered_per_second": 10, "failed_share": 5.0 / 205, "found_share": 0.95, "lost_share": 15.0 / 195, "lost_share.sales": 15.0 / 195, "missing_share": 0.025, "missing_share.sales": 0.025, "wrong_answers": 2, "unfinished": 5,
		"quota_used": 90.0 / 150, "quota_used.acme": 90.0 / 150,
		"refused_per_10k": 10_000.0 * 10 / 105, "late_refused_per_10k": 10_000.0 * 10 / 55, "duplicates": 1, "after_spent": 2,
		"calls_per_lead": 105.0 / 89, "retry_depth": 2,
		"hit_ratio": 100.0 / 190, "cost_micros": 9_000_000, "cost_per_record": 9_000_000.0 / 190,
		"saved_micros": 10_000_000, "saved_share": 10.0 / 19,
		"redis_trips_per_lead": 2, "wait.sales.p95": 0.3,
		"rss_peak_mib": 100, "growth.memory": 2, "growth.fds": 1, "growth.threads": 1.25, "growth.goroutines": 1.5, "cpu_seconds_per_1k": 1.9 / 200 * 1000,
	} {
		if got, known := r.Figures[name]; !known || math.Abs(got-want) > 1e-9*max(1, math.Abs(want)) {
			t.Errorf("%s = %v (known: %t), want %v", name, got, known, want)
		}
	}
}

func TestEveryFigureHasAMeaning(t *testing.T) {
	r := judge.Judge(&scenario.Scenario{}, madeUp())
	for name := range r.Figures {
		if judge.Meaning(name) == "" {
			t.Errorf("%s is not explained", name)
		}
	}
}

func TestChecks(t *testing.T) {
	for line, want := range map[string]bool{
		"duplicates <= 1":        true,
		"duplicates <= 0":        false,
		"quota_used >= 60%":      true,
		"quota_used >= 61%":      false,
		"wait.sales.p95 <= 0.3":  true,
		"wait.nobody.p95 <= 10s": false, // what is not known has not passed
	} {
		r := judge.Judge(&scenario.Scenario{SLO: []string{"answered >= 1", line}}, madeUp())
		if r.Passed != want || len(r.Checks) != 2 || r.Checks[1].Passed != want {
			t.Errorf("%s: passed %t, checks %+v", line, r.Passed, r.Checks)
		}
	}
}

// TestAnInterruptedRunIsNeverGood though all checks hold until then.
func TestAnInterruptedRunIsNeverGood(t *testing.T) {
	evidence := madeUp()
	evidence.Interrupted = true
	r := judge.Judge(&scenario.Scenario{Length: time.Minute, SLO: []string{"answered >= 1"}}, evidence)
	if r.Passed || !r.Interrupted || r.Planned != 60 || !r.Checks[0].Passed {
		t.Errorf("passed %t, interrupted %t after %v of %v s, checks %+v", r.Passed, r.Interrupted, r.Seconds, r.Planned, r.Checks)
	}
}

// TestALeadIsOneAtAllVendors asks a second vendor, which a storm shakes, for
// somebody whom the first was asked for.
func TestALeadIsOneAtAllVendors(t *testing.T) {
	evidence := madeUp()
	evidence.Ledgers = append(evidence.Ledgers, judge.Ledger{
		Name:    "zenith",
		Summary: fakevendor.Summary{Calls: 2, RateLimited: 1, TooMany: 1, RefusedBy: map[string]int64{"storm": 1}},
		Entries: []fakevendor.Entry{
			{Time: began, Request: "other", Fault: fakevendor.Storm, Limit: "storm", Status: 429},
			{Time: began, Request: "other", Subject: "lead7", Status: 200},
		},
	})
	r := judge.Judge(&scenario.Scenario{}, evidence)
	if got := r.Figures["calls_per_lead"]; got != 107.0/89 {
		t.Errorf("%v calls per lead, want 107 for 89 leads", got)
	}
	if got := r.Figures["refused_per_10k"]; got != 10_000.0*10/107 {
		t.Errorf("%v refused of 10,000, want the 10 of the first vendor's limit", got)
	}
	if p := r.Vendors[1].Points[0]; p.Failed != 1 || p.Refused != 0 || p.Admitted != 1 {
		t.Errorf("the storm's second %+v", p)
	}
}

// TestAWindowCutInTwoIsNotJudged has a load of 12 s with windows of 10 s: the
// second window may be used up within its two seconds.
func TestAWindowCutInTwoIsNotJudged(t *testing.T) {
	evidence := madeUp()
	evidence.Length = 12 * time.Second
	evidence.Ledgers[0].Quotas = []judge.Quota{{From: began, Limits: []strict.Limit{{Shape: strict.Fixed, Amount: 100, Window: 10 * time.Second}}}}
	for i := range 80 {
		at := began.Add(10*time.Second + time.Duration(i)*time.Millisecond)
		evidence.Ledgers[0].Entries = append(evidence.Ledgers[0].Entries, fakevendor.Entry{Time: at, Status: 200})
	}
	if got := judge.Judge(&scenario.Scenario{}, evidence).Figures["quota_used"]; got != 0.5 {
		t.Errorf("%v of the quota used, want 50 calls of 100", got)
	}
	evidence.Length = 9 * time.Second
	if got, known := judge.Judge(&scenario.Scenario{}, evidence).Figures["quota_used"]; known {
		t.Errorf("%v of the quota used without a whole window", got)
	}
}

// TestACutLedgerTellsNoLeads: what must be counted one by one is not measured
// when the vendor has forgotten some of its calls.
func TestACutLedgerTellsNoLeads(t *testing.T) {
	evidence := madeUp()
	evidence.Ledgers[0].Entries, evidence.Ledgers[0].Cut = evidence.Ledgers[0].Entries[50:], 50
	r := judge.Judge(&scenario.Scenario{}, evidence)
	for _, figure := range []string{"calls_per_lead", "retry_depth", "retry_spread", "late_refused_per_10k"} {
		if got, known := r.Figures[figure]; known {
			t.Errorf("%s is %v", figure, got)
		}
	}
	if r.Figures["vendor_calls"] != 105 || r.Figures["duplicates"] != 1 || r.Vendors[0].Cut != 50 {
		t.Errorf("figures %v, cut %d", r.Figures, r.Vendors[0].Cut)
	}
}

// TestNothingHasNoShare judges a service that asked no vendor and answered
// nobody: bounds on shares of nothing do not hold.
func TestNothingHasNoShare(t *testing.T) {
	idle := judge.Evidence{
		Began: began, Length: 20 * time.Second, RedisTrips: -1,
		Traffic: []judge.Traffic{{Name: "sales", Tally: drive.Tally{Asked: 45, Latencies: drive.Latencies{P50: 9, P95: 19}}}},
		Ledgers: []judge.Ledger{{Name: "acme"}},
	}
	for _, figure := range []string{
		"calls_per_lead", "duplicates", "after_spent", "refused_per_10k", "late_refused_per_10k", "too_many_per_10k", "retry_depth", "retry_spread", "hit_ratio", "failed_share",
		"failed_share.sales", "found_share", "lost_share", "missing_share", "wrong_answers", "wait.sales.p50", "wait.sales.max",
	} {
		r := judge.Judge(&scenario.Scenario{SLO: []string{figure + " <= 1000"}}, idle)
		if r.Passed || r.Checks[0].Known {
			t.Errorf("%s is %v, of nothing", figure, r.Checks[0].Value)
		}
	}
	r := judge.Judge(&scenario.Scenario{SLO: []string{"vendor_calls <= 0", "unfinished <= 45"}}, idle)
	if !r.Passed {
		t.Errorf("checks %+v", r.Checks)
	}
}

// TestWhoNeverLearnsIsTold judges two fleets at the vendor of the scenario
// "lowered": what the first window after the change refuses is the same and most
// of it, but one of them asks for 5 % too much for ever.
func TestWhoNeverLearnsIsTold(t *testing.T) {
	text, err := scenarios.Files.ReadFile("lowered.yaml")
	if err != nil {
		t.Fatal(err)
	}
	lowered, err := scenario.Parse("lowered.yaml", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		refused int // of each later window
		good    bool
	}{"learns": {1, true}, "never learns": {8, false}} {
		var entries []fakevendor.Entry
		book := func(at time.Duration, calls int, limit string) {
			for range calls {
				entries = append(entries, fakevendor.Entry{Time: began.Add(at), Request: fmt.Sprint(len(entries)), Limit: limit})
			}
		}
		var refused int64
		for window := range 9 {
			at, admitted, over := time.Duration(window)*10*time.Second, 300, 0
			if window >= 3 {
				admitted, over = 150, test.refused
			}
			if window == 3 {
				over = 110
			}
			book(at, admitted, "")
			book(at+time.Second, over, "rate")
			refused += int64(over)
		}
		ledger := judge.Ledger{Summary: fakevendor.Summary{Calls: int64(len(entries)), RefusedBy: map[string]int64{"rate": refused}}, Entries: entries}
		r := judge.Judge(lowered, judge.Evidence{Began: began, Length: lowered.Length, Ledgers: []judge.Ledger{ledger}})
		good := true
		for _, check := range r.Checks {
			if strings.HasSuffix(check.Figure, "refused_per_10k") {
				good = good && check.Passed
			}
		}
		if good != test.good {
			t.Errorf("%s: good: %t, figures %v", name, good, r.Figures)
		}
	}
}

func TestVendorSecondBySecond(t *testing.T) {
	r := judge.Judge(&scenario.Scenario{}, madeUp())
	points := r.Vendors[0].Points
	if len(points) != 20 {
		t.Fatalf("%d seconds, want 20", len(points))
	}
	if p := points[0]; p.Admitted != 5 || p.Quota != 10 {
		t.Errorf("first second %+v", p)
	}
	if p := points[19]; p.Admitted != 0 || p.Refused != 10 || p.Quota != 5 {
		t.Errorf("last second %+v", p)
	}
	if p := points[15]; p.Failed != 5 {
		t.Errorf("second with the outage %+v", p)
	}
	if len(r.Bands) != 1 || r.Bands[0].What != "outage" || r.Bands[0].From != 15 {
		t.Errorf("bands %+v", r.Bands)
	}
}

func TestAllowedByShape(t *testing.T) {
	for name, test := range map[string]struct {
		limit strict.Limit
		want  float64
	}{
		"bucket":       {strict.Limit{Shape: strict.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}, 220},
		"bucket of 10": {strict.Limit{Shape: strict.TokenBucket, Amount: 10, Window: time.Second}, 210},
		"sliding":      {strict.Limit{Shape: strict.Sliding, Amount: 100, Window: 10 * time.Second}, 200},
		"day":          {strict.Limit{Shape: strict.Day, Amount: 120}, 120},
		"at once":      {strict.Limit{Shape: strict.Concurrency, Amount: 2}, 400}, // of calls that take 100 ms
	} {
		evidence := madeUp()
		evidence.Ledgers[0].Quotas = []judge.Quota{{From: began, Limits: []strict.Limit{test.limit}}}
		r := judge.Judge(&scenario.Scenario{}, evidence)
		if got := r.Vendors[0].Allowed; math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%s allows %v in 20 s, want %v", name, got, test.want)
		}
	}
}
