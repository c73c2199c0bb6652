// Package results keeps the newest measurement of every row of the benchmark and
// the newest verdict on every scenario: as JSON for programs, and as a page
// beside it for people.
package results

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// Results are what is kept. Rows and Scenarios are sorted by name.
type Results struct {
	Rows      []Row      `json:"rows"`
	Scenarios []Scenario `json:"scenarios"`
}

// Row is one measured row of the benchmark.
type Row struct {
	Name     string `json:"name"`
	What     string `json:"what"`
	Measured string `json:"measured"`
	Must     string `json:"must"`
	Aim      string `json:"aim"`
	// How it came about.
	How string `json:"how"`
	// Drains are runs against a vendor's limit: the service's first, then those
	// of the usual policies. Empty: the row is of another kind.
	Drains []Drain `json:"drains,omitempty"`
	Origin Origin  `json:"origin"`
}

// Service is the policy of the service itself.
const Service = "enrichd"

// Drain is how one policy did at a vendor's limit.
type Drain struct {
	Policy string `json:"policy"`
	// Done is the share of calls that were made of those that the limit allows.
	Done float64 `json:"done"`
	// Refused calls of 10,000.
	Refused float64 `json:"refused"`
}

// String is the form in which tables show it.
func (d Drain) String() string { return fmt.Sprintf("%.3f · %.0f", d.Done, d.Refused) }

// Scenario is the verdict on one load test.
type Scenario struct {
	Name   string        `json:"name"`
	Length time.Duration `json:"length"` // in nanoseconds
	Passed bool          `json:"passed"`
	Checks []Check       `json:"checks"`
	Origin Origin        `json:"origin"`
}

// Check is one line of what had to hold, and what was measured.
type Check struct {
	Line     string `json:"line"`
	Measured string `json:"measured"`
	Passed   bool   `json:"passed"`
}

// file is where the JSON beside a page lies.
func file(page string) string { return strings.TrimSuffix(page, ".md") + ".json" }

// Read reads what is kept beside a page. Nothing kept yet is no error.
func Read(page string) (*Results, error) {
	kept := &Results{}
	text, err := os.ReadFile(file(page))
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(kept); err != nil {
		return nil, fmt.Errorf("%s: %w", file(page), err)
	}
	return kept, nil
}

// PutRow replaces the row of that name.
func (r *Results) PutRow(row Row) {
	r.Rows = put(r.Rows, row, func(r Row) string { return r.Name })
}

// PutScenario replaces the verdict on that scenario.
func (r *Results) PutScenario(s Scenario) {
	r.Scenarios = put(r.Scenarios, s, func(s Scenario) string { return s.Name })
}

func put[T any](kept []T, one T, name func(T) string) []T {
	at, found := slices.BinarySearchFunc(kept, one, func(a, b T) int { return cmp.Compare(name(a), name(b)) })
	if found {
		kept[at] = one
		return kept
	}
	return slices.Insert(kept, at, one)
}

// Write keeps the results as a page and as JSON beside it.
func (r *Results) Write(page string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // for people who read "<="
	encoder.SetIndent("", " ")
	if err := encoder.Encode(r); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(file(page), text.Bytes(), 0o644), os.WriteFile(page, r.markdown(), 0o644))
}
