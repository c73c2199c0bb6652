package jobs_test

import (
	"context"
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

// single is an engine that works on a file of its own until the test ends.
func single(t *testing.T, plays *script, halts func() []ledger.Switch) (*ledger.Store, *jobs.Engine) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db"), Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := jobs.New(t.Context(), jobs.Config{}, jobs.Parts{
		Store: store, Enricher: plays, Normalizer: normalizer, Suppressions: enrich.NoSuppressions{}, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		Account: func(string) (enrich.Account, bool) { return acme, true }, Halts: halts,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Stop(context.WithoutCancel(t.Context())) })
	return store, engine
}

func submitted(t *testing.T, engine *jobs.Engine, lead jobs.Lead) string {
	t.Helper()
	results, err := engine.Submit(t.Context(), acme, lead)
	if err != nil || results[0].Refused != nil {
		t.Fatal(results, err)
	}
	return results[0].Receipt.ID
}

// TestALeadThatIsHaltedInTheMiddleWaitsForTheRest stops vendor calls while a lead
// is worked: what was found before is no reason to end it.
func TestALeadThatIsHaltedInTheMiddleWaitsForTheRest(t *testing.T) {
	var halted atomic.Bool
	plays := newScript()
	plays.on(ada, func(request enrich.Request) (enrich.Answer, error) {
		halted.Store(true) // by a person, and the engine has yet to notice
		answer, err := finds("Engineer")(request)
		answer.Completeness = enrich.PartlyFound
		answer.Gaps["person.phone"] = enrich.Gap{Kind: enrich.GapFailed, Reason: enrich.ReasonStopped}
		return answer, err
	})
	store, engine := single(t, plays, func() []ledger.Switch {
		if !halted.Load() {
			return nil
		}
		return []ledger.Switch{{Scope: ledger.ScopeLane, Name: string(enrich.Standard), Reason: "switch"}}
	})
	id := submitted(t, engine, jobs.Lead{Email: ada})
	until(t, "it was tried and waits", func() bool {
		lead, err := store.Lead(t.Context(), id)
		return err == nil && lead.State == ledger.StateNone && lead.Reason == enrich.ReasonStopped && lead.Cost == 30 && lead.Attempts == 0
	})
	if stops, err := engine.Stops(t.Context()); err != nil || len(stops) != 1 || stops[0].Reason != "switch" {
		t.Errorf("stops = %v, %v", stops, err)
	}
}

// TestAFailedLeadTellsWhatWasTried and is no dead letter any more once somebody
// asks for more of it.
func TestAFailedLeadTellsWhatWasTried(t *testing.T) {
	plays := newScript()
	plays.on(ada, func(enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{Attempts: []enrich.Attempt{{Provider: "vendor", Outcome: enrich.AuthFailed, Charged: enrich.KnownCharge(5)}}}, &enrich.Error{Kind: enrich.Rejected, Message: "scripted"}
	}, finds("Engineer"))
	store, engine := single(t, plays, nil)
	lead := jobs.Lead{Email: ada, Want: ledger.Want{Attributes: []enrich.Attribute{"person.title"}}}
	id := submitted(t, engine, lead)
	letters := func() []ledger.DeadLetter {
		all, err := store.DeadLetters(t.Context(), ledger.DeadFilter{})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	until(t, "it is a dead letter", func() bool { return len(letters()) == 1 })
	if letter := letters()[0]; letter.Provider != "vendor" || len(letter.Tries) != 1 || letter.Tries[0].Outcome != string(enrich.AuthFailed) || *letter.Tries[0].Charged != 5 {
		t.Errorf("the letter tells %+v", letter)
	}
	lead.Want.Attributes = append(lead.Want.Attributes, "person.phone")
	if again := submitted(t, engine, lead); again != id {
		t.Fatal("another lead")
	}
	until(t, "it is done", func() bool {
		known, err := store.Lead(t.Context(), id)
		return err == nil && known.State == ledger.StateDone
	})
	if open := letters(); len(open) > 0 {
		t.Errorf("it is done, and still a dead letter: %+v", open)
	}
}
