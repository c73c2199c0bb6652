package main

import (
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
)

func TestTheLineOfProgressIsOneLine(t *testing.T) {
	var shown strings.Builder
	terminal := narrow{&shown, func() int { return 20 }}
	for line, want := range map[string]string{
		anew + strings.Repeat("x", 200): anew + strings.Repeat("x", 18) + "…",
		anew + "short":                  anew + "short",
		"\n":                            "\n",
	} {
		shown.Reset()
		if n, err := terminal.Write([]byte(line)); n != len(line) || err != nil || shown.String() != want {
			t.Errorf("%q is shown as %q, %d, %v", line, shown.String(), n, err)
		}
	}
}

func TestWhatWasNotBegunIsTold(t *testing.T) {
	s := &scenario.Scenario{Traffic: []scenario.Traffic{
		{Name: "flood", Rate: 100_000, Batch: 1, Clump: 1, Workers: 10_000, Until: 3 * time.Second},
		{Name: "late", Rate: 10, Batch: 1, Clump: 20, From: 2 * time.Second, Until: time.Minute},
		{Name: "few", Rate: 100, Batch: 1, Clump: 1, Leads: 7, Until: 3 * time.Second},
		{Name: "workers", Workers: 5, Until: 3 * time.Second},
	}}
	outcome := &judge.Report{Seconds: 3}
	for _, asked := range []int64{52_437, 0, 7, 1} {
		outcome.Traffic = append(outcome.Traffic, judge.Traffic{Tally: drive.Tally{Asked: asked}})
	}
	var said strings.Builder
	sayWhatWasNotBegun(&said, s, outcome)
	if lines := strings.Split(strings.TrimSpace(said.String()), "\n"); len(lines) != 1 || !strings.Contains(lines[0], "flood: 247563 of 300000") {
		t.Errorf("said:\n%s", said.String())
	}
}
