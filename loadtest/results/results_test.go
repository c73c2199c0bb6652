package results_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/results"
)

var origin = results.Origin{Commit: "abc", Machine: "a machine, 2 cores", Load: "0.10", Time: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}

func drains(row string, done float64) results.Row {
	return results.Row{
		Name: row, What: "bucket <10/s>: done/ideal", Measured: "x", Must: "≥ .95", Origin: origin,
		Drains: []results.Drain{{Policy: results.Service, Done: done}, {Policy: "backoff & hope", Done: 0.5, Refused: 7907}},
	}
}

func sample() *results.Results {
	r := &results.Results{}
	r.PutRow(drains("Q4", 1))
	r.PutRow(results.Row{Name: "C1", What: "memory hit | CPU", Measured: "1.2", Must: "≤ 1.25", How: "a over b", Origin: origin})
	r.PutRow(drains("Q1", 0.975))
	r.PutScenario(results.Scenario{Name: "storm", Length: time.Minute, Origin: origin, Checks: []results.Check{
		{Line: "duplicates <= 0", Measured: "0", Passed: true}, {Line: "failed_share <= 1%", Measured: "3.00 %"}}})
	r.PutScenario(results.Scenario{Name: "steady", Length: time.Minute, Passed: true, Origin: origin})
	return r
}

func TestKeepsTheNewestOfEach(t *testing.T) {
	page := filepath.Join(t.TempDir(), "RESULTS.md")
	if kept, err := results.Read(page); err != nil || len(kept.Rows) > 0 {
		t.Fatalf("nothing was kept yet: %+v, %v", kept, err)
	}
	if err := sample().Write(page); err != nil {
		t.Fatal(err)
	}
	kept, err := results.Read(page)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(kept, sample()) {
		t.Errorf("read back %+v", kept)
	}
	kept.PutRow(drains("Q1", 0.99))
	kept.PutScenario(results.Scenario{Name: "storm", Passed: true})
	if len(kept.Rows) != 3 || kept.Rows[1].Name != "Q1" || kept.Rows[1].Drains[0].Done != 0.99 {
		t.Errorf("rows %+v", kept.Rows)
	}
	if len(kept.Scenarios) != 2 || !kept.Scenarios[1].Passed {
		t.Errorf("scenarios %+v", kept.Scenarios)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Machines: a machine, 2 cores\n",
		"| C1 memory hit \\| CPU | 1.2 | ≤ 1.25 |",
		"| storm, 1m0s | **not good** | `duplicates <= 0`: 0<br>✗ `failed_share <= 1%`: 3.00 % | abc, 2026-03-01 12:00, 0.10 |",
		"| steady, 1m0s | good |",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page has no %q:\n%s", want, text)
		}
	}
}

func TestAPageThatIsNotOursIsAnError(t *testing.T) {
	page := filepath.Join(t.TempDir(), "RESULTS.md")
	if err := os.WriteFile(strings.TrimSuffix(page, "md")+"json", []byte(`{"other": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := results.Read(page); err == nil {
		t.Error("something else was read as results")
	}
}

// TestChart reads the drawing as XML, and finds in it what was measured.
func TestChart(t *testing.T) {
	var first, second bytes.Buffer
	if err := errors.Join(sample().Chart(&first), sample().Chart(&second)); err != nil {
		t.Fatal(err)
	}
	if first.String() != second.String() {
		t.Error("the same results make another drawing")
	}
	var texts []string
	for decoder := xml.NewDecoder(bytes.NewReader(first.Bytes())); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			texts = append(texts, string(text))
		}
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{"enrichd", "backoff & hope", "bucket <10/s>", "97.5 %", "50.0 %", "7907"} {
		if !strings.Contains(all, want) {
			t.Errorf("the drawing does not say %q", want)
		}
	}
	if err := (&results.Results{}).Chart(io.Discard); err == nil {
		t.Error("a drawing of nothing")
	}
}

func TestFrontPage(t *testing.T) {
	r := sample()
	alone := drains("Q5s", 0.9)
	alone.Drains = alone.Drains[:1]
	r.PutRow(alone)
	page := r.FrontPage()
	for _, want := range []string{
		"| row | vendor's rule | enrichd | backoff & hope | wanted | commit |\n| --- | --- | --- | --- | --- | --- |\n| Q1 | bucket <10/s> | 0.975 · 0 | 0.500 · 7907 | ≥ .95 | abc |",
		"| Q5s | bucket <10/s> | 0.900 · 0 | – | ≥ .95 | abc |",
		"| C1 | memory hit \\| CPU | 1.2 | ≤ 1.25 | abc |",
		"1 of 2",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the front page has no %q:\n%s", want, page)
		}
	}
}
