package jobs_test

import (
	"testing"

	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
)

// undelivered objects between the answer and its delivery, and before that
// nobody can tell.
func undelivered(t *testing.T, build func(bool) *world) {
	w := build(true)
	if err := w.engine.Pause(t.Context(), ledger.ScopeLane, "deliver", "operator"); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{ada, grace} {
		w.ends(t, w.submit(t, jobs.Lead{Email: address})[0].Receipt.ID)
	}
	w.objects.add(t, ada)
	w.objects.setAway(true)
	if err := w.engine.Resume(t.Context(), ledger.ScopeLane, "deliver"); err != nil {
		t.Fatal(err)
	}
	until(t, "both were tried", func() bool {
		tried, err := w.engine.Queue().List(t.Context(), 10, "retryable", "available")
		return err == nil && len(tried) == 2 && tried[0].LastWord != "" && tried[1].LastWord != ""
	})
	w.objects.setAway(false)
	until(t, "nothing is pending", func() bool {
		pending, err := w.store.PendingDeliveries(t.Context(), "", 10)
		return err == nil && len(pending) == 0
	})
	if w.box.count() != 1 {
		t.Errorf("%d of one delivered", w.box.count())
	}
}
