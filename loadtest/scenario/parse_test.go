package scenario_test

import (
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/scenarios"
)

const whole = `
length: 10s
replicas: 2
vendors:
  - name: peopledatalabs
    fake: {data: {}, limits: {rules: [{name: rate, shape: fixed, amount: 10, window: 1s}]}}
traffic:
  - {name: import, via: stream, rate: 100, workload: {kind: zipf, people: 10}}
  - {name: clicks}
events:
  - {at: 1s, do: kill replica, replica: 2}
slo: [refused_per_10k <= 5]
`

func TestParseFillsDefaults(t *testing.T) {
	s, err := scenario.Parse("some/where/whole.yaml", strings.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	stream, clicks := s.Traffic[0], s.Traffic[1]
	if s.Name != "whole" || stream.Batch != 100 || stream.Workers != 10_000 || stream.Workload.Skew != 1.1 || stream.Until != 10*time.Second {
		t.Errorf("scenario %q, stream %+v", s.Name, stream)
	}
	if clicks.Via != "grpc" || clicks.Batch != 1 || clicks.Workers != 64 || clicks.Workload.Kind != "fresh" {
		t.Errorf("clicks %+v", clicks)
	}
	if what := s.Events[0].What(); what != "kill replica 2" {
		t.Errorf("event %q", what)
	}
}

func TestParseReportsEveryProblem(t *testing.T) {
	for broken, want := range map[string]string{
		"length: 10s":                        "length: 0s",
		"via: stream":                        "traffic[0]: via",
		"people: 10":                         "2 people or more",
		"name: clicks":                       "is there twice",
		"{at: 1s, do: kill replica":          "not within the length",
		"replica: 2}":                        "there is no replica 7",
		"refused_per_10k <= 5":               "slo[0]",
		"shape: fixed":                       "vendors:",
		"do: kill replica":                   "do: ",
		"{at: 1s, do: kill replica, replica": "there is no redis",
	} {
		replacement := map[string]string{
			"length: 10s": "length: 0s", "via: stream": "via: pigeon", "people: 10": "people: 1", "name: clicks": "name: import",
			"{at: 1s, do: kill replica": "{at: 1h, do: kill replica", "replica: 2}": "replica: 7}", "refused_per_10k <= 5": "fewer refusals",
			"shape: fixed": "shape: round", "do: kill replica": "do: dance", "{at: 1s, do: kill replica, replica": "{at: 1s, do: kill redis, replica",
		}[broken]
		_, err := scenario.Parse("x.yaml", strings.NewReader(strings.Replace(whole, broken, replacement, 1)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", replacement, err, want)
		}
	}
	if _, err := scenario.Parse("x.yaml", strings.NewReader(whole+"\nspeed: fast")); err == nil {
		t.Error("an unknown key was accepted")
	}
}

// TestParseRefusesWhatCannotBeDone lays one field at a time over a traffic or an
// event that is right.
func TestParseRefusesWhatCannotBeDone(t *testing.T) {
	for field, want := range map[string]string{
		"rate: .nan":                 "traffic[0]: rate: NaN",
		"rate: .inf":                 "traffic[0]: rate: +Inf",
		"rate: -1":                   "traffic[0]: rate: -1",
		"workers: -5":                "traffic[0]: workers",
		"leads: -5":                  "traffic[0]: leads: -5",
		"leads: 2000000000":          "traffic[0]: leads",
		"budget: -5s":                "traffic[0]: budget: -5s",
		"rate: 5, clump: -3":         "traffic[0]: clump: -3",
		"rate: 5, clump: 1000000000": "traffic[0]: clump",
		"purpose: Cold calls":        `traffic[0]: purpose: "Cold calls"`,
		"fields: [person.shoe_size]": `traffic[0]: fields: there is no "person.shoe_size"`,
		"name: under_score":          "traffic[0]: name",
		"name: a@b":                  "traffic[0]: name",
		"name: Upper":                "traffic[0]: name",
		"name: -a":                   "traffic[0]: name",
		"workload: {kind: zipf, people: 5, skew: .nan}": "a skew above 1",
		"workload: {kind: zipf, people: 5, skew: .inf}": "a skew above 1",
	} {
		name := "name: a, "
		if strings.HasPrefix(field, "name:") {
			name = ""
		}
		text := "{length: 5s, vendors: [{name: hunter, fake: {data: {}}}], traffic: [{" + name + field + "}]}"
		if _, err := scenario.Parse("x.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", field, err, want)
		}
	}
	for change, want := range map[string]string{
		"":                                   "events[0]: do: change vendor needs",
		", faults: {rules: [{kind: tired}]}": "events[0]: vendors.hunter.faults.rules[0]: kind",
		", limits: {rules: [{name: r, amount: -1}]}": "events[0]: vendors.hunter.limits",
		", data: {miss: 7}":                          "events[0]: vendors.hunter.data",
	} {
		text := "{length: 5s, vendors: [{name: hunter, fake: {data: {}}}], traffic: [{name: a}], events: [{at: 1s, do: change vendor, vendor: hunter" + change + "}]}"
		if _, err := scenario.Parse("x.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", change, err, want)
		}
	}
	second := "{length: 5s, vendors: [{name: hunter}], traffic: [{name: a}]}\n---\nslo: [duplicates <= 0]\n"
	if _, err := scenario.Parse("x.yaml", strings.NewReader(second)); err == nil || !strings.Contains(err.Error(), "more than one document") {
		t.Errorf("a second document: %v", err)
	}
	twice := "{length: 5s, vendors: [{name: hunter}, {name: hunter}], traffic: [{name: a}]}"
	if _, err := scenario.Parse("x.yaml", strings.NewReader(twice)); err == nil || !strings.Contains(err.Error(), "vendors[1]: name") {
		t.Errorf("two vendors of one name: %v", err)
	}
}

func TestWhatRunsCannotBeStarted(t *testing.T) {
	for events, right := range map[string]bool{
		"{at: 1s, do: start redis}":                                                                                       false,
		"{at: 2s, do: start redis}, {at: 1s, do: kill redis}":                                                             true,
		"{at: 1s, do: freeze redis}, {at: 2s, do: start redis}":                                                           false,
		"{at: 1s, do: start replica, replica: 1}":                                                                         false,
		"{at: 1s, do: stop replica, replica: 2}, {at: 2s, do: start replica, replica: 1}":                                 false,
		"{at: 1s, do: kill replica, replica: 1}, {at: 2s, do: start replica, replica: 1}":                                 true,
		"{at: 1s, do: kill replica, replica: 1}, {at: 2s, do: restart replicas}, {at: 3s, do: start replica, replica: 1}": false,
	} {
		text := "{length: 5s, replicas: 2, redis: true, traffic: [{name: a}], events: [" + events + "]}"
		_, err := scenario.Parse("x.yaml", strings.NewReader(text))
		if (err == nil) != right || err != nil && !strings.Contains(err.Error(), "runs already") {
			t.Errorf("%s: %v", events, err)
		}
	}
}

func TestATargetHasNoFleet(t *testing.T) {
	const text = `
length: 5s
target: {grpc: "127.0.0.1:8471"}
traffic: [{name: clicks}]
`
	if _, err := scenario.Parse("x.yaml", strings.NewReader(text)); err != nil {
		t.Error(err)
	}
	if _, err := scenario.Parse("x.yaml", strings.NewReader(text+"redis: true")); err == nil {
		t.Error("a target with a Redis of ours was accepted")
	}
	for _, field := range []string{"account: team", "replicas: [1]"} {
		text := strings.Replace(text, "name: clicks", "name: clicks, "+field, 1)
		if _, err := scenario.Parse("x.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "key_file") {
			t.Errorf("a target with %s: %v", field, err)
		}
	}
	for _, via := range []string{"rest", "stream"} {
		address := map[string]string{"rest": "grpc", "stream": "rest"}[via]
		text := `{length: 5s, target: {` + address + `: "127.0.0.1:1"}, traffic: [{name: a, via: ` + via + `}]}`
		if _, err := scenario.Parse("x.yaml", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "traffic[0]: via: "+via) {
			t.Errorf("%s with an address for %s alone: %v", via, address, err)
		}
	}
}

func TestParseBound(t *testing.T) {
	for line, want := range map[string]scenario.Bound{
		"wait.sales.p95 <= 300ms": {Figure: "wait.sales.p95", AtMost: true, Value: 0.3},
		"quota_used >= 95%":       {Figure: "quota_used", Value: 0.95},
		"duplicates <= 0":         {Figure: "duplicates", AtMost: true},
	} {
		want.Line = line
		if got, err := scenario.ParseBound(line); err != nil || got != want {
			t.Errorf("ParseBound(%q) = %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "duplicates < 0", "duplicates <= few", "duplicates <= 0 please", "duplicates <= NaN", "duplicates <= Inf", "quota_used >= -inf%"} {
		if _, err := scenario.ParseBound(line); err == nil {
			t.Errorf("ParseBound(%q) is no error", line)
		}
	}
	bound := scenario.Bound{AtMost: true, Value: 5}
	if !bound.Holds(5) || bound.Holds(5.1) {
		t.Error("at most 5")
	}
	bound.AtMost = false
	if !bound.Holds(5) || bound.Holds(4.9) {
		t.Error("at least 5")
	}
}

func TestScenariosOfTheProgramAreWhole(t *testing.T) {
	names := scenarios.Names()
	if len(names) < 10 {
		t.Fatalf("only %d scenarios", len(names))
	}
	for _, name := range names {
		text, err := scenarios.Files.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		s, err := scenario.Parse(name, strings.NewReader(string(text)))
		if err != nil {
			t.Error(err)
			continue
		}
		if s.About == "" || len(s.SLO) == 0 {
			t.Errorf("%s says neither what it is about nor what must hold", name)
		}
		short, err := s.WithLength(5 * time.Second)
		if err == nil && (short.Length != 5*time.Second || s.Length == short.Length) {
			t.Errorf("%s: length %s of %s", name, short.Length, s.Length)
		}
	}
}
