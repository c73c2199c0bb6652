package workload_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/workload"
)

func source(t *testing.T, w scenario.Workload) workload.Source {
	t.Helper()
	made, err := workload.New("Import", w)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func TestFreshLeadsNeverRepeat(t *testing.T) {
	fresh := source(t, scenario.Workload{Kind: "fresh"})
	seen := map[string]bool{}
	for n := range int64(10_000) {
		if seen[fresh(n)] {
			t.Fatalf("%s again", fresh(n))
		}
		seen[fresh(n)] = true
	}
}

func TestZipfRepeatsAFew(t *testing.T) {
	zipf := source(t, scenario.Workload{Kind: "zipf", People: 1000, Skew: 1.3})
	counts := map[string]int{}
	for n := range int64(10_000) {
		counts[zipf(n)]++
	}
	most := 0
	for _, n := range counts {
		most = max(most, n)
	}
	if len(counts) > 1000 || len(counts) < 100 || most < 1000 {
		t.Errorf("%d people, the commonest %d of 10,000 times", len(counts), most)
	}
}

func TestCSVReadsItsColumn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "leads.csv")
	if err := os.WriteFile(file, []byte("Name, E-Mail\nAda,ada@acme.example\nBo,\nCy,cy@acme.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := source(t, scenario.Workload{Kind: "csv", File: file, Column: "e-mail"})
	if rows(0) != "ada@acme.example" || rows(1) != "cy@acme.example" || rows(2) != rows(0) {
		t.Errorf("read %s, %s, %s", rows(0), rows(1), rows(2))
	}
	if _, err := workload.New("x", scenario.Workload{Kind: "csv", File: file, Column: "phone"}); err == nil {
		t.Error("a column that is not there was read")
	}
}
