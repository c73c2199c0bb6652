package jobs_test

import (
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// TestALeadThatIsHaltedInTheMiddleWaitsForTheRest stops vendor calls while a lead
// is worked: what was found before is no reason to end it.
func TestALeadThatIsHaltedInTheMiddleWaitsForTheRest(t *testing.T) {
	var halted atomic.Bool
	w := newWorld(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")}, true, func(parts *jobs.Parts) {
		parts.Halts = func() []ledger.Switch {
			if !halted.Load() {
				return nil
			}
			return []ledger.Switch{{Scope: ledger.ScopeLane, Name: string(enrich.Standard), Reason: "switch"}}
		}
	})
	w.script.on(ada, func(request enrich.Request) (enrich.Answer, error) {
		halted.Store(true) // by a person, and the engine has yet to notice
		answer, err := finds("Engineer")(request)
		answer.Completeness = enrich.PartlyFound
		answer.Gaps["person.phone"] = enrich.Gap{Kind: enrich.GapFailed, Reason: enrich.ReasonStopped}
		return answer, err
	})
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	until(t, "it was tried and waits", func() bool {
		lead := w.lead(t, id)
		return lead.State == ledger.StateNone && lead.Reason == enrich.ReasonStopped && lead.Cost == 30 && lead.Attempts == 0
	})
	if stops, err := w.engine.Stops(t.Context()); err != nil || len(stops) != 1 || stops[0].Reason != "switch" {
		t.Errorf("stops = %v, %v", stops, err)
	}
}

// TestAFailedLeadTellsWhatWasTried and is no dead letter any more once somebody
// asks for more of it.
func TestAFailedLeadTellsWhatWasTried(t *testing.T) {
	w := newWorld(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")}, true)
	w.script.on(ada, func(enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{Attempts: []enrich.Attempt{{Provider: "vendor", Outcome: enrich.AuthFailed, Charged: enrich.KnownCharge(5)}}}, &enrich.Error{Kind: enrich.Rejected, Message: "scripted"}
	}, finds("Engineer"))
	lead := jobs.Lead{Email: ada, Want: ledger.Want{Attributes: []enrich.Attribute{"person.title"}}}
	id := w.submit(t, lead)[0].Receipt.ID
	letters := func() []ledger.DeadLetter {
		all, err := w.store.DeadLetters(t.Context(), ledger.DeadFilter{})
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
	if again := w.submit(t, lead)[0].Receipt.ID; again != id {
		t.Fatal("another lead")
	}
	until(t, "it is done", func() bool { return w.lead(t, id).State == ledger.StateDone })
	if open := letters(); len(open) > 0 {
		t.Errorf("it is done, and still a dead letter: %+v", open)
	}
}
