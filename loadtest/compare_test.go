package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/judge"
)

func TestCompareSaysWhatElseDiffers(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before := &judge.Report{Scenario: "steady", Commit: "abc", Began: began, Seconds: 60, Replicas: 3, Machine: "m, 2 cores, load 0.10"}
	same := *before
	same.Began, same.Seconds, same.Machine = began.Add(time.Hour), 59.5, "m, 2 cores, load 3.20"
	var said strings.Builder
	sayWhatIsCompared(&said, before, &same)
	for _, want := range []string{"03:04:05 UTC", "04:04:05 UTC", "commit abc", "load 3.20"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing of %q in:\n%s", want, said.String())
		}
	}
	if strings.Contains(said.String(), "different") {
		t.Errorf("two runs of one kind are told as different:\n%s", said.String())
	}
	if strings.Contains(said.String(), "interrupted") {
		t.Errorf("whole runs are told as interrupted:\n%s", said.String())
	}
	said.Reset()
	ended := *before
	ended.Interrupted, ended.Seconds, ended.Planned = true, 12, 60
	sayWhatIsCompared(&said, before, &ended)
	for _, want := range []string{"interrupted after 12s of 1m", "different lengths"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing of %q in:\n%s", want, said.String())
		}
	}
	said.Reset()
	sayWhatIsCompared(&said, before, &judge.Report{Scenario: "storm", Seconds: 12, Replicas: 1, Machine: "n, 2 cores, load 0.10"})
	if !strings.Contains(said.String(), "different scenarios, lengths, numbers of replicas, machines:") {
		t.Errorf("said:\n%s", said.String())
	}
}

func TestWhatIsNoReportIsSaid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report")
	for text, want := range map[string]string{
		"\n<!doctype html>": "is a page: give the report in JSON",
		`{"scenario":"steady","began":"2026-01-02T03:04:05Z","figures":{}} and more`: "not JSON alone",
		`{"scenario":"x"}`: "no report of a load test",
		"":                 "no report of a load test",
	} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readReport(file); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}
