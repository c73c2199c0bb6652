package jobs_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

// crash leaves a lead and its job in the hands of a process that is no more.
func crash(t *testing.T, build func(bool) *world) {
	w := build(false)
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	if _, err := w.store.Claim(t.Context(), id, enrich.Standard, time.Hour); err != nil {
		t.Fatal(err)
	}
	if _, err := w.store.Pool().Exec(`UPDATE river_job SET state = 'running', attempt = 1, attempted_at = $1, attempted_by = $2`,
		time.Now().Add(-time.Minute).UTC().Format("2006-01-02 15:04:05.000"), attemptedBy(w.store, "node-1")); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	w.start(t)
	lead := w.ends(t, id)
	if lead.State != ledger.StateDone || lead.Attempts != 2 {
		t.Errorf("%+v", lead)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("took %s: others would have had to notice", took)
	}
}

// attemptedBy is a list of one name as the queue's table has it.
func attemptedBy(store *ledger.Store, name string) string {
	if store.IsSQLite() {
		return `["` + name + `"]`
	}
	return "{" + name + "}"
}

func emptied(t *testing.T, build func(bool) *world) {
	w := build(false)
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	if _, err := w.store.Pool().Exec(`DELETE FROM river_job`); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	w.ends(t, id)
}

// givenUp has the queue give up the job of a lead without anybody knowing.
func givenUp(t *testing.T, build func(bool) *world) {
	w := build(false)
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	if _, err := w.store.Pool().Exec(`UPDATE river_job SET state = 'discarded', attempt = 8, finalized_at = $1`,
		time.Now().UTC().Format("2006-01-02 15:04:05.000")); err != nil {
		t.Fatal(err)
	}
	w.start(t)
	if lead := w.ends(t, id); lead.State != ledger.StateError || lead.Reason != ledger.DeadLost {
		t.Errorf("%+v", lead)
	}
	letters, err := w.store.DeadLetters(t.Context(), ledger.DeadFilter{})
	if err != nil || len(letters) != 1 || letters[0].Reason != ledger.DeadLost {
		t.Errorf("%+v, %v", letters, err)
	}
	if err := w.engine.Retry(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if lead := w.ends(t, id); lead.State != ledger.StateDone {
		t.Errorf("worked again: %+v", lead)
	}
	left, err := w.engine.Queue().List(t.Context(), 10, "discarded")
	if err != nil || len(left) != 0 {
		t.Errorf("the queue still has %+v, %v", left, err)
	}
}

// rest answers in part, because of a failure that passes, one that stays, and
// one that no try can mend.
func rest(t *testing.T, build func(bool) *world) {
	w := build(true)
	part := func(reason string) func(enrich.Request) (enrich.Answer, error) {
		return func(request enrich.Request) (enrich.Answer, error) {
			answer, err := finds("Engineer")(request)
			answer.Completeness = enrich.PartlyFound
			answer.Gaps["person.seniority"] = enrich.Gap{Kind: enrich.GapFailed, Reason: reason}
			return answer, err
		}
	}
	const alan = "alan@turing.example"
	w.script.on(ada, part(string(enrich.Timeout)), finds("Engineer"))
	w.script.on(grace, part(string(enrich.Timeout)))
	w.script.on(alan, part(string(enrich.Forbidden)))
	results := w.submit(t, jobs.Lead{Email: ada}, jobs.Lead{Email: grace}, jobs.Lead{Email: alan})
	for i, want := range []struct {
		address string
		state   ledger.State
		calls   int
	}{{ada, ledger.StateDone, 2}, {grace, ledger.StatePartial, 3}, {alan, ledger.StatePartial, 1}} {
		lead := w.ends(t, results[i].Receipt.ID)
		if calls := w.script.called(want.address); lead.State != want.state || calls != want.calls || int(lead.Cost) != 30*want.calls {
			t.Errorf("lead %d: %s after %d calls for %d", i, lead.State, calls, lead.Cost)
		}
	}
	spent, err := w.store.Spent(t.Context(), time.Time{})
	if err != nil || len(spent) != 1 || spent[0].Micros != 180 {
		t.Errorf("spent %+v, %v", spent, err)
	}
}

func deliveries(t *testing.T, build func(bool) *world) {
	w := build(true)
	w.box.fail(&sinks.Error{Class: sinks.Later, Reason: "status_503", Attempted: true})
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	w.ends(t, id)
	var letters []ledger.DeadLetter
	until(t, "the delivery is given up", func() (met bool) {
		var err error
		letters, err = w.store.DeadLetters(t.Context(), ledger.DeadFilter{Kind: ledger.DeadDelivery})
		return err == nil && len(letters) == 1
	})
	if letters[0].Reason != ledger.DeadSinkFailing || letters[0].Attempts != 3 {
		t.Errorf("%+v", letters[0])
	}
	if lead := w.lead(t, id); lead.State != ledger.StateDone || w.script.called(ada) != 1 {
		t.Errorf("the lead is %s after %d calls", lead.State, w.script.called(ada))
	}
	err := w.store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := w.store.DeliveryIn(ctx, tx, "none")
		return err
	})
	if !errors.Is(err, ledger.ErrUnknown) {
		t.Error(err)
	}
	w.box.fail(nil)
	err = w.store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		if err := w.store.ReopenDelivery(ctx, tx, letters[0].Target); err != nil {
			return err
		}
		return w.engine.ResubmitDelivery(ctx, tx, letters[0].Target)
	})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the replay is delivered", func() bool { return w.box.count() == 1 })
	if !w.box.messages[0].Replayed {
		t.Error("the sink is not told that a person asks for it")
	}
}

func objects(t *testing.T, build func(bool) *world) {
	w := build(false)
	id := w.submit(t, jobs.Lead{Email: ada})[0].Receipt.ID
	w.objects.add(t, ada)
	w.start(t)
	if lead := w.ends(t, id); lead.State != ledger.StateCancelled || w.script.called(ada) != 0 || w.box.count() != 0 {
		t.Errorf("%+v, %d calls, %d messages", lead, w.script.called(ada), w.box.count())
	}
}
