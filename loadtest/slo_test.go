package main

import (
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/scenarios"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

var two = &scenario.Scenario{Traffic: []scenario.Traffic{{Name: "sales"}}, Vendors: []scenario.Vendor{{Name: "hunter"}}}

// TestEveryFigureOfARunCanBeBound judges a run that brings all of them.
func TestEveryFigureOfARunCanBeBound(t *testing.T) {
	began := time.Now()
	recorder := drive.NewRecorder()
	recorder.Ask(0)
	recorder.Answer(drive.Answer{Code: "OK", Tier: "vendor", Outcome: "complete"}, began, began.Add(time.Second))
	var points []judge.ProcessPoint
	for at := range 20 {
		points = append(points, judge.ProcessPoint{At: at, Usage: fleet.Usage{RSS: 1, Goroutines: 1, Files: 1, Threads: 1}, CPU: float64(at)})
	}
	evidence := judge.Evidence{
		Began: began, Length: 20 * time.Second,
		Traffic:   []judge.Traffic{{Name: "sales", Tally: recorder.Tally()}},
		Processes: []judge.Process{{Name: "replica 1", Points: points}},
		Ledgers: []judge.Ledger{{
			Name:   "hunter",
			Quotas: []judge.Quota{{From: began, Limits: []strict.Limit{{Shape: strict.Fixed, Amount: 1, Window: time.Second}}}},
		}},
	}
	figures := judge.Judge(two, evidence).Figures
	for _, want := range []string{"wait.sales.p95", "quota_used.hunter", "growth.fds"} {
		if _, known := figures[want]; !known {
			t.Errorf("the run brings no %s", want)
		}
	}
	for name := range figures {
		if err := checkFigure(two, name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFiguresThatNoRunBringsAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"refused_per10k":    "no such figure",
		"wait":              "wait.TRAFFIC",
		"wait.sales":        "wait.TRAFFIC",
		"wait.sales.p77":    "p50, p95",
		"wait.buyers.p95":   `no traffic "buyers"`,
		"failed_share.team": `no traffic "team"`,
		"answered.sales.x":  "answered.NAME",
		"quota_used.sales":  `no vendor "sales"`,
		"growth":            "growth and one of",
		"growth.disks":      "memory, goroutines",
	} {
		if err := checkFigure(two, name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
}

func TestScenariosOfTheProgramBindWhatThereIs(t *testing.T) {
	for _, name := range scenarios.Names() {
		if s, err := readScenario(name); err != nil {
			t.Error(err)
		} else if err := checkSLO(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
