package main

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/email"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// TestTheTableTellsRefusedFromFailed checks the words that a row begins with.
func TestTheTableTellsRefusedFromFailed(t *testing.T) {
	table := newDemoTable()
	table.add(result{lead: lead{email: "a"}, err: unreadableError(email.ClassNoAt, "no address")})
	table.add(result{lead: lead{email: "b", damage: damagedRow{3, "unclosed_quote"}}, err: damagedRow{3, "unclosed_quote"}})
	table.add(result{lead: lead{email: "c"}, err: status.Error(codes.DeadlineExceeded, "vendors are late")})
	for i, want := range []string{"refused invalid_address (no_at)", "refused damaged_row: line 3: unclosed quote", "failed DeadlineExceeded: vendors are late"} {
		if got := strings.Join(table.rows[i+1][3:5], " "); got != want {
			t.Errorf("row %d says %q, want %q", i+1, got, want)
		}
	}
	if table.refused != 2 || table.failed != 1 {
		t.Errorf("%d refused, %d failed", table.refused, table.failed)
	}
}

// TestTheTableShowsSharedCallsAndUnknownCharges has an answer whose facts come
// from everywhere.
func TestTheTableShowsSharedCallsAndUnknownCharges(t *testing.T) {
	known := int64(5)
	response := &enrichv1.EnrichResponse{
		Provenance: map[string]*enrichv1.Provenance{
			"person.title":       {Provider: "one"},
			"person.full_name":   {Provider: "two"},
			"company.name":       {Provider: "one", Tier: enrichv1.CacheTier_CACHE_TIER_MEMORY},
			"company.legal_name": {Provider: "two", Tier: enrichv1.CacheTier_CACHE_TIER_REDIS},
		},
		Attempts: []*enrichv1.Attempt{
			{Provider: "one", ChargedMicros: &known}, {Provider: "one"},
			{Provider: "two", Shared: true},
		},
	}
	if got := tiersOf(response); got != "memory+redis+shared+vendor" {
		t.Errorf("tiers = %s", got)
	}
	table := newDemoTable()
	table.add(result{response: response})
	if table.facts != 4 || table.cached != 3 || table.unknown != 1 {
		t.Errorf("%d facts, %d without a call of their own, %d charges unknown", table.facts, table.cached, table.unknown)
	}
}
