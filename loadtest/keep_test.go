package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/judge"
)

// TestReportsNeverReplaceOneAnother keeps three of the same second, one of them
// where only half of an earlier one is left.
func TestReportsNeverReplaceOneAnother(t *testing.T) {
	dir := t.TempDir()
	outcome := &judge.Report{Scenario: "steady", Figures: map[string]float64{}, Began: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if err := os.WriteFile(filepath.Join(dir, "steady-20260102-030405-2.html"), []byte("earlier"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"steady-20260102-030405", "steady-20260102-030405-3"} {
		page, err := keep(outcome, dir)
		if err != nil || page != filepath.Join(dir, want+".html") {
			t.Fatalf("kept as %s, %v; want %s", page, err, want)
		}
		if _, err := readReport(filepath.Join(dir, want+".json")); err != nil {
			t.Error(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "steady-20260102-030405-2.html")); err != nil || string(text) != "earlier" {
		t.Errorf("the earlier one is %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 5 {
		t.Errorf("%d files, %v; want two pairs and the earlier one", len(left), err)
	}
}

// TestWhereNothingCanBeKeptNothingRuns names a binary that is none, which would
// be told otherwise.
func TestWhereNothingCanBeKeptNothingRuns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, run := range []runCommand{
		{Out: filepath.Join(file, "reports"), Binary: file},
		{Out: t.TempDir(), Markdown: filepath.Join(file, "RESULTS.md"), Binary: file},
	} {
		if err := run.Run(t.Context()); err == nil || err.Error() != "mkdir "+file+": not a directory" {
			t.Errorf("error %v", err)
		}
	}
}

func TestALengthOfNothingIsRefused(t *testing.T) {
	var nothing time.Duration
	if err := (&runCommand{Out: t.TempDir(), Binary: "no binary", Length: &nothing}).Run(t.Context()); err == nil || !strings.HasPrefix(err.Error(), "--length: steady:\nlength: 0s is not between") {
		t.Errorf("error %v", err)
	}
}
