package jobs_test

import (
	"io"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// TestALeadThatIsHaltedInTheMiddleWaitsForTheRest stops vendor calls while a lead
// is worked: what was found before is no reason to end it.
func TestALeadThatIsHaltedInTheMiddleWaitsForTheRest(t *testing.T) {
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db"), Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var halted atomic.Bool
	plays := newScript()
	plays.on(ada, func(request enrich.Request) (enrich.Answer, error) {
		halted.Store(true) // by a person, and the engine has yet to notice
		answer, err := finds("Engineer")(request)
		answer.Completeness = enrich.PartlyFound
		answer.Gaps["person.phone"] = enrich.Gap{Kind: enrich.GapFailed, Reason: enrich.ReasonStopped}
		return answer, err
	})
	engine, err := jobs.New(t.Context(), jobs.Config{}, jobs.Parts{
		Store: store, Enricher: plays, Normalizer: normalizer, Suppressions: enrich.NoSuppressions{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Account: func(string) (enrich.Account, bool) { return acme, true },
		Halts: func() []ledger.Switch {
			if !halted.Load() {
				return nil
			}
			return []ledger.Switch{{Scope: ledger.ScopeLane, Name: string(enrich.Standard), Reason: "switch"}}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer engine.Stop(t.Context())
	results, err := engine.Submit(t.Context(), acme, jobs.Lead{Email: ada})
	if err != nil {
		t.Fatal(err)
	}
	id := results[0].Receipt.ID
	until(t, "it was tried and waits", func() bool {
		lead, err := store.Lead(t.Context(), id)
		return err == nil && lead.State == ledger.StateNone && lead.Reason == enrich.ReasonStopped && lead.Cost == 30 && lead.Attempts == 0
	})
	if stops, err := engine.Stops(t.Context()); err != nil || len(stops) != 1 || stops[0].Reason != "switch" {
		t.Errorf("stops = %v, %v", stops, err)
	}
}
