// Package report writes what came out of a load test: for the terminal, as JSON,
// and as one page that needs nothing else.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/results"
)

// WriteJSON writes the report for programs.
func WriteJSON(w io.Writer, r *judge.Report) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", " ")
	return encoder.Encode(r)
}

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(r io.Reader) (*judge.Report, error) {
	var read judge.Report
	if err := json.NewDecoder(r).Decode(&read); err != nil {
		return nil, err
	}
	if read.Scenario == "" {
		return nil, fmt.Errorf("this is no report of a load test")
	}
	return &read, nil
}

// Text writes verdict and checks for the terminal.
func Text(w io.Writer, r *judge.Report) {
	word, sentence := verdict(r)
	fmt.Fprintf(w, "%s: %s. %s\n", r.Scenario, word, sentence)
	for _, check := range r.Checks {
		sign := "✓"
		if !check.Passed {
			sign = "✗"
		}
		fmt.Fprintf(w, "  %s %-36s %s\n", sign, check.Line, measured(check))
	}
	for _, t := range r.Traffic {
		fmt.Fprintf(w, "  %-16s %8d answered  %6d failed  p50 %s  p95 %s  p99 %s\n", t.Name, t.Tally.Answered, t.Tally.Failed(),
			wait(t, t.Tally.P50), wait(t, t.Tally.P95), wait(t, t.Tally.P99))
		if failed := failures(t); failed != "" {
			fmt.Fprintf(w, "  %-16s failed: %s\n", "", failed)
		}
		if told := unpunctual(t); told != "" {
			fmt.Fprintf(w, "  %-16s %s\n", "", told)
		}
	}
	for _, v := range r.Vendors {
		if v.Cut > 0 {
			fmt.Fprintf(w, "  %s\n", v.Name+": "+cut(v))
		}
	}
}

// cut says that a vendor's ledger is not whole.
func cut(v judge.Vendor) string {
	return fmt.Sprintf("the ledger no longer has the first %d calls, so leads and repeats are not counted", v.Cut)
}

// Scenario is the verdict as it is kept beside those of other runs.
func Scenario(r *judge.Report, origin results.Origin) results.Scenario {
	s := results.Scenario{
		Name: r.Scenario, Length: time.Duration(r.Seconds * float64(time.Second)).Round(time.Second), Passed: r.Passed, Origin: origin,
	}
	for _, check := range r.Checks {
		s.Checks = append(s.Checks, results.Check{Line: check.Line, Measured: measured(check), Passed: check.Passed})
	}
	return s
}

// Compare writes the figures of two reports side by side.
func Compare(w io.Writer, a, b *judge.Report) {
	fmt.Fprintf(w, "%-28s %16s %16s %9s\n", "", a.Scenario+" "+a.Commit, b.Scenario+" "+b.Commit, "CHANGE")
	names := map[string]bool{}
	for name := range a.Figures {
		names[name] = true
	}
	for name := range b.Figures {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		before, had := a.Figures[name]
		after, has := b.Figures[name]
		one, other, change := "–", "–", ""
		if had {
			one = figure(name, before)
		}
		if has {
			other = figure(name, after)
		}
		if had && has && before != 0 {
			change = fmt.Sprintf("%+.1f %%", 100*(after-before)/before)
		}
		fmt.Fprintf(w, "%-28s %16s %16s %9s\n", name, one, other, change)
	}
	before, _ := verdict(a)
	after, _ := verdict(b)
	fmt.Fprintf(w, "%-28s %16s %16s\n", "verdict", before, after)
}
