package jobs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

func TestEngine(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Fast)
	databases := map[string]func(*testing.T) ledger.Config{
		"sqlite":     func(t *testing.T) ledger.Config { return ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")} },
		"postgresql": func(t *testing.T) ledger.Config { return ledger.Config{PostgreSQL: cluster.Database(t)} },
	}
	promises := map[string]func(*testing.T, func(start bool) *world){
		"a lead is worked, paid and delivered once":       worked,
		"refusals and repeats":                            refusals,
		"three tries, then a dead letter":                 threeTries,
		"a refusal without a vendor call is no try":       refused,
		"a lane of refusals stops":                        leftAlone,
		"what cannot succeed is not tried again":          hopeless,
		"waiting stops the lane":                          waiting,
		"bulk leads of paused accounts stand aside":       pausedAccount,
		"what a crash left behind is taken up":            crash,
		"an emptied queue is rebuilt":                     emptied,
		"what the queue gave up is a dead letter":         givenUp,
		"the rest of a partial answer is tried again":     rest,
		"failed deliveries are dead letters of their own": deliveries,
		"who objects is neither asked nor delivered":      objects,
		"nobody is delivered who objected meanwhile":      undelivered,
	}
	for database, config := range databases {
		for name, promise := range promises {
			t.Run(database+"/"+name, func(t *testing.T) {
				own := config(t)
				promise(t, func(start bool) *world { return newWorld(t, own, start) })
			})
		}
	}
}

func worked(t *testing.T, build func(bool) *world) {
	w := build(true)
	for _, lane := range []enrich.Lane{enrich.Interactive, enrich.Bulk} {
		address := string(lane) + "@lovelace.example"
		id := w.submit(t, jobs.Lead{Email: address, Lane: lane, Contact: []byte(`{"utm":"x"}`)})[0].Receipt.ID
		lead := w.ends(t, id)
		if lead.State != ledger.StateDone || lead.Cost != 30 || len(lead.Result) == 0 || lead.Attempts != 1 {
			t.Errorf("%s: %+v", lane, lead)
		}
	}
	until(t, "both are delivered", func() bool { return w.box.count() == 2 })
	spent, err := w.store.Spent(t.Context(), time.Time{})
	if err != nil || len(spent) != 1 || spent[0].Calls != 2 || spent[0].Micros != 60 {
		t.Errorf("spent %+v, %v", spent, err)
	}
	again := w.submit(t, jobs.Lead{Email: "INTERACTIVE@lovelace.example", Lane: enrich.Interactive})[0].Receipt
	if again.New || again.State != ledger.StateDone {
		t.Errorf("the same lead again: %+v", again)
	}
	lead := w.lead(t, again.ID)
	until(t, "the timeline tells of the delivery", func() bool {
		events, err := w.store.Timeline(t.Context(), lead.Subject)
		if err != nil {
			t.Fatal(err)
		}
		var kinds []ledger.EventKind
		for _, event := range events {
			kinds = append(kinds, event.Kind)
		}
		return slices.Equal(kinds, []ledger.EventKind{ledger.EventSubmitted, ledger.EventAsked, ledger.EventCharged, ledger.EventFound, ledger.EventDelivered})
	})
}

func refusals(t *testing.T, build func(bool) *world) {
	w := build(false)
	w.objects.add(t, grace)
	results := w.submit(t, jobs.Lead{Email: "nobody"}, jobs.Lead{Email: grace}, jobs.Lead{Email: ada}, jobs.Lead{Email: ada},
		jobs.Lead{Email: ada, Want: ledger.Want{Attributes: []enrich.Attribute{"person.shoe"}}}, jobs.Lead{Domain: "hopper.example"})
	reasons := make([]string, len(results))
	for i, result := range results {
		if reasons[i] = "accepted"; result.Refused != nil {
			reasons[i] = result.Refused.Reason
		} else if !result.Receipt.New {
			reasons[i] = "repeated"
		}
	}
	if want := []string{"no_address", "suppressed", "accepted", "repeated", "unknown_attribute", "accepted"}; !slices.Equal(reasons[1:], want[1:]) || results[0].Refused == nil {
		t.Errorf("got %v", reasons)
	}
}

func threeTries(t *testing.T, build func(bool) *world) {
	w := build(true)
	w.script.on(ada, failsAsked(enrich.Unavailable))
	w.script.on(grace, failsAsked(enrich.Unavailable), fails(enrich.Internal, 0), finds("Admiral"))
	results := w.submit(t, jobs.Lead{Email: ada}, jobs.Lead{Email: grace})
	if lead := w.ends(t, results[0].Receipt.ID); lead.State != ledger.StateError || w.script.called(ada) != 3 {
		t.Errorf("%d calls, %+v", w.script.called(ada), lead)
	}
	if lead := w.ends(t, results[1].Receipt.ID); lead.State != ledger.StateDone {
		t.Errorf("the third try: %+v", lead)
	}
	letters, err := w.store.DeadLetters(t.Context(), ledger.DeadFilter{})
	if err != nil || len(letters) != 1 || letters[0].Reason != "unavailable" || letters[0].Target != results[0].Receipt.ID {
		t.Errorf("%+v, %v", letters, err)
	}
}

// refused has look-ups refused without a vendor call, or with one to a vendor
// that fails for everybody: neither is a try, however few are left.
func refused(t *testing.T, build func(bool) *world) {
	w := build(true)
	w.failing.Store(true)
	w.script.on(ada, failsAsked(enrich.Unavailable))
	w.script.on(grace, fails(enrich.Unavailable, 0))
	w.script.on("alan@turing.example", fails(enrich.OutOfTime, 0))
	for _, result := range w.submit(t, jobs.Lead{Email: ada}, jobs.Lead{Email: grace}, jobs.Lead{Email: "alan@turing.example"}) {
		until(t, "the lead waits", func() bool {
			lead := w.lead(t, result.Receipt.ID)
			return lead.State == ledger.StateNone && lead.Fence == 1 && lead.Attempts == 0
		})
	}
}

// leftAlone has as many leads refused by a breaker as the lane has workers: the
// rest is spared until it lets a call pass.
func leftAlone(t *testing.T, build func(bool) *world) {
	w := build(true)
	var leads []jobs.Lead
	for i := range 40 {
		address := fmt.Sprintf("n%d@lovelace.example", i)
		w.script.on(address, fails(enrich.Unavailable, time.Minute))
		leads = append(leads, jobs.Lead{Email: address, Lane: enrich.Bulk})
	}
	w.submit(t, leads...)
	until(t, "the lane stops", func() bool {
		stops, err := w.store.Switches(t.Context())
		return err == nil && len(stops) == 1 && stops[0].Name == "bulk" && stops[0].Reason == "unavailable"
	})
}

func hopeless(t *testing.T, build func(bool) *world) {
	w := build(true)
	w.script.on(ada, fails(enrich.Rejected, 0))
	w.script.on(grace, fails(enrich.Throttled, 2*time.Hour))
	results := w.submit(t, jobs.Lead{Email: ada}, jobs.Lead{Email: grace, Budget: time.Hour})
	for i, want := range []string{"rejected", ledger.DeadBudget} {
		if lead := w.ends(t, results[i].Receipt.ID); lead.Reason != want {
			t.Errorf("%+v", lead)
		}
	}
	gone, err := w.engine.Submit(t.Context(), enrich.Account{Name: "gone"}, jobs.Lead{Email: ada})
	if err != nil {
		t.Fatal(err)
	}
	if lead := w.ends(t, gone[0].Receipt.ID); lead.Reason != "denied" {
		t.Errorf("an account that is gone: %+v", lead)
	}
	if calls := w.script.called(ada); calls != 1 {
		t.Errorf("%d calls", calls)
	}
}

func waiting(t *testing.T, build func(bool) *world) {
	w := build(true)
	var leads []jobs.Lead
	for i := range 40 {
		address := string(rune('a'+i%26)) + string(rune('a'+i/26)) + "@lovelace.example"
		w.script.on(address, fails(enrich.Throttled, time.Hour))
		leads = append(leads, jobs.Lead{Email: address, Lane: enrich.Bulk})
	}
	w.submit(t, leads...)
	until(t, "the lane stops", func() bool {
		stops, err := w.store.Switches(t.Context())
		return err == nil && len(stops) == 1 && stops[0].Name == "bulk" && stops[0].Reason == "throttled"
	})
	stops, _ := w.store.Switches(t.Context())
	if left := time.Until(stops[0].Until); left < 50*time.Minute || left > time.Hour {
		t.Errorf("stopped for %s", left)
	}
	if lead := w.ends(t, w.submit(t, jobs.Lead{Email: ada, Lane: enrich.Interactive})[0].Receipt.ID); lead.State != ledger.StateDone {
		t.Errorf("another lane: %+v", lead)
	}
	open, err := w.store.Leads(t.Context(), ledger.Filter{Lane: enrich.Bulk, States: []ledger.State{ledger.StateError}})
	if err != nil || len(open) != 0 {
		t.Errorf("%d leads given up, %v", len(open), err)
	}
}

func pausedAccount(t *testing.T, build func(bool) *world) {
	w := build(true)
	if err := w.engine.Pause(t.Context(), ledger.ScopeAccount, "acme", "operator"); err != nil {
		t.Fatal(err)
	}
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	until(t, "the lead stands aside", func() bool { return w.lead(t, id).Reason == "account_paused" })
	other, err := w.engine.Submit(t.Context(), enrich.Account{Name: "globex"}, jobs.Lead{Email: ada})
	if err != nil {
		t.Fatal(err)
	}
	w.ends(t, other[0].Receipt.ID)
	if lead := w.lead(t, id); lead.State != ledger.StateNone || lead.Attempts != 0 {
		t.Errorf("%+v", lead)
	}
	if err := w.engine.Resume(t.Context(), ledger.ScopeAccount, "acme"); err != nil {
		t.Fatal(err)
	}
	w.ends(t, id)
}
