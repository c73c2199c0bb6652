package app

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// TestAnOutageUsesUpNoTries works leads while their vendor is out: from when its
// breaker has opened, they wait.
func TestAnOutageUsesUpNoTries(t *testing.T) {
	vendors, address := startVendors(t)
	program := accept(t, address, filepath.Join(t.TempDir(), "results.ndjson"), ledger.Config{Path: filepath.Join(t.TempDir(), "leads.db")},
		func(config *config.Config) { config.Jobs.AttemptTimeout = 7 * time.Second }) // a second or two for vendors
	if err := vendors.SetFaults(primary, fakevendor.Faults{Rules: []fakevendor.Fault{{Kind: fakevendor.Outage}}}); err != nil {
		t.Fatal(err)
	}
	first := program.submit(t, "jane.doe@acme.example").GetId()
	waits := func(id string) bool {
		return slices.ContainsFunc(program.lead(t, id).GetTimeline(), func(event *enrichv1.LeadEvent) bool { return event.GetKind() == string(ledger.EventWaited) })
	}
	waitFor(t, "its own failures have opened the breaker", func() bool { return waits(first) })
	if !program.app.parts.failing(primary) {
		t.Error("nobody knows that the vendor fails")
	}
	second := program.submit(t, "john.roe@northwind.example").GetId()
	waitFor(t, "the next is refused and waits", func() bool { return waits(second) })
	for id, most := range map[string]int32{first: 2, second: 0} {
		if lead := program.lead(t, id); lead.GetState() != enrichv1.LeadState_LEAD_STATE_NONE || lead.GetAttempts() > most {
			t.Errorf("%s after %d tries", lead.GetState(), lead.GetAttempts())
		}
	}
}
