package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// demoTable collects what became of the leads, for a person to read.
type demoTable struct {
	rows     [][]string
	answered int // leads with an answer
	found    int // of them with something found
	refused  int // leads that could not be read
	failed   int
	facts    int   // answered facts
	cached   int   // of them from a cache, or from a call made for another lead
	cost     int64 // in micros, of the charges that are known
	unknown  int   // calls of which nobody knows whether they were charged
}

func newDemoTable() *demoTable {
	return &demoTable{rows: [][]string{{"LEAD", "PERSON", "COMPANY", "OUTCOME", "BY", "TIER", "COST", "WAIT", "GAPS"}}}
}

// add takes in one result.
func (t *demoTable) add(r result) {
	lead := clipped(r.lead.email, 34)
	if r.err != nil {
		outcome := "refused"
		if r.lead.damage != nil || unreadable(r.err) {
			t.refused++
		} else {
			outcome = failedWord
			t.failed++
		}
		t.rows = append(t.rows, []string{lead, "", "", outcome, explain(r.err), "", "", "", ""})
		return
	}
	t.answered++
	t.cost += r.response.GetCostMicros()
	if r.response.GetOutcome() != enrichv1.Outcome_OUTCOME_NOT_FOUND {
		t.found++
	}
	for _, attempt := range r.response.GetAttempts() {
		count(&t.unknown, !attempt.GetShared() && attempt.ChargedMicros == nil)
	}
	own := ownCalls(r.response)
	for _, provenance := range r.response.GetProvenance() {
		t.facts++
		count(&t.cached, tierOf(provenance, own) != "vendor")
	}
	person, company := r.response.GetPerson(), r.response.GetCompany()
	t.rows = append(t.rows, []string{
		lead,
		clipped(joined(", ", person.GetFullName(), person.GetTitle()), 36),
		clipped(company.GetName(), 18),
		outcomeWord(r.response.GetOutcome()),
		strings.Join(providersOf(r.response), "+"),
		tiersOf(r.response),
		dollars(r.response.GetCostMicros()),
		waitedFor(r.response).Round(time.Millisecond).String(),
		gapsOf(r.response),
	})
}

// print writes the table.
func (t *demoTable) print(out io.Writer) {
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range t.rows {
		fmt.Fprintln(writer, strings.Join(row, "\t"))
	}
	_ = writer.Flush()
}

// printTotals sums up, with the vendors' own ledgers as the witness.
func (t *demoTable) printTotals(out io.Writer, vendors *fakevendor.Server) {
	fmt.Fprintf(out, "\n%d leads: %d found, %d not found, %d refused as unreadable, %d failed\n",
		t.answered+t.refused+t.failed, t.found, t.answered-t.found, t.refused, t.failed)
	share := 0
	if t.facts > 0 {
		share = 100 * t.cached / t.facts
	}
	fmt.Fprintf(out, "%d facts answered, %d%% of them without a vendor call of their own\n", t.facts, share)
	fmt.Fprintln(out, "\nWhat the vendors say, of which the first was told to fail for a second and to refuse calls for another:")
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(writer, "vendor\tcalls\t5xx met\t429s met\tover its limit\tpaid twice\tbilled\t")
	var billed int64
	for _, name := range vendors.Vendors() {
		ledger := vendors.Summary(name)
		billed += ledger.ChargedMicros
		fmt.Fprintf(writer, "%s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", name, ledger.Calls, serverErrors(ledger), ledger.RateLimited, overLimit(ledger), ledger.Duplicates, dollars(ledger.ChargedMicros))
	}
	_ = writer.Flush()
	fmt.Fprintf(out, "\nThe answers cost %s, the vendors billed %s", dollars(t.cost), dollars(billed))
	if t.unknown > 0 {
		fmt.Fprintf(out, "; of %d calls that failed nobody knows the charge", t.unknown)
	}
	fmt.Fprintln(out)
}

func serverErrors(ledger fakevendor.Summary) (sum int64) {
	for status, calls := range ledger.ByStatus {
		if status >= 500 {
			sum += calls
		}
	}
	return sum
}

// overLimit counts the calls that a vendor's own limits refused, and not a fault
// that it was told to have. It is what enrichd promises never to cause.
func overLimit(ledger fakevendor.Summary) int64 {
	return ledger.RateLimited - ledger.ByFault[fakevendor.Storm]
}

// ownCalls are the providers that were called for this answer, rather than for
// one that was under way for the same subject.
func ownCalls(response *enrichv1.EnrichResponse) map[string]bool {
	own := map[string]bool{}
	for _, attempt := range response.GetAttempts() {
		if !attempt.GetShared() {
			own[attempt.GetProvider()] = true
		}
	}
	return own
}

// tierOf says where a fact comes from: a cache, the "vendor", or a call that was
// "shared" with another lead.
func tierOf(provenance *enrichv1.Provenance, own map[string]bool) string {
	switch tier := provenance.GetTier(); {
	case tier == enrichv1.CacheTier_CACHE_TIER_MEMORY:
		return "memory"
	case tier == enrichv1.CacheTier_CACHE_TIER_REDIS:
		return "redis"
	case own[provenance.GetProvider()]:
		return "vendor"
	default:
		return "shared"
	}
}

// tiersOf lists where the facts of an answer come from.
func tiersOf(response *enrichv1.EnrichResponse) string {
	tiers, own := map[string]bool{}, ownCalls(response)
	for _, provenance := range response.GetProvenance() {
		tiers[tierOf(provenance, own)] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(tiers)), "+")
}

// waitedFor is the time that the calls made for the answer waited for tokens
// and between tries.
func waitedFor(response *enrichv1.EnrichResponse) (sum time.Duration) {
	for _, attempt := range response.GetAttempts() {
		if !attempt.GetShared() {
			sum += attempt.GetWaited().AsDuration()
		}
	}
	return sum
}

// gapsOf counts what is missing by reason.
func gapsOf(response *enrichv1.EnrichResponse) string {
	counts := map[string]int{}
	for _, gap := range response.GetGaps() {
		counts[gap.GetReason()]++
	}
	var texts []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%d %s", counts[reason], reason))
	}
	return strings.Join(texts, ", ")
}

func dollars(micros int64) string { return fmt.Sprintf("$%.3f", float64(micros)/1e6) }

func joined(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// clipped shortens a text to a number of characters and keeps it on one line.
func clipped(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}
