package main

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// resultColumns are the columns that a result adds behind the lead's own: the
// contract's attributes between what happened and why.
func resultColumns() []string {
	columns := []string{"enrichd.outcome", "enrichd.email", "enrichd.error"}
	for _, spec := range enrich.Attributes() {
		columns = append(columns, string(spec.Attribute))
	}
	return append(columns, "enrichd.providers", "enrichd.cost_micros")
}

// Where these stand among the cells of a result.
const (
	outcomeCell = 0
	errorCell   = 2
)

// failedWord is the outcome of a lead without an answer.
const failedWord = "failed"

// failed tells whether the cells of a result are those of a lead without an
// answer, and whether asking again can bring one.
func failed(cells []string) (failed, again bool) {
	failed = cells[outcomeCell] == failedWord
	why := cells[errorCell]
	return failed, failed && !strings.HasPrefix(why, unreadableWord) && !strings.HasPrefix(why, damagedWord)
}

// resultCells are the cells for resultColumns.
func resultCells(r result) []string {
	if r.err != nil {
		cells := make([]string, len(resultColumns()))
		cells[outcomeCell], cells[errorCell] = failedWord, explain(r.err)
		return cells
	}
	cells := []string{outcomeWord(r.response.GetOutcome()), r.response.GetEmail(), ""}
	for _, spec := range enrich.Attributes() {
		cells = append(cells, spec.Text(r.response))
	}
	return append(cells, strings.Join(providersOf(r.response), " "), strconv.FormatInt(r.response.GetCostMicros(), 10))
}

func outcomeWord(outcome enrichv1.Outcome) string {
	return strings.ToLower(strings.TrimPrefix(outcome.String(), "OUTCOME_"))
}

// providersOf lists who supplied the facts of an answer.
func providersOf(response *enrichv1.EnrichResponse) []string {
	var providers []string
	for _, provenance := range response.GetProvenance() {
		if !slices.Contains(providers, provenance.GetProvider()) {
			providers = append(providers, provenance.GetProvider())
		}
	}
	slices.Sort(providers)
	return providers
}

// harmless keeps a spreadsheet from running a vendor's text as a formula: such
// a cell gets an apostrophe in front. Numbers and phones stay as they are.
func harmless(cell string) string {
	if cell == "" || !strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
		return cell
	}
	rest := strings.TrimLeft(cell, "+-")
	if len(cell)-len(rest) == 1 && strings.IndexFunc(rest, func(r rune) bool { return !unicode.IsDigit(r) }) < 0 {
		return cell
	}
	return "'" + cell
}
