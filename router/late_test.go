package router

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// outlast asks with less time than the vendor takes.
func outlast(t *testing.T, r *Router, ask enrich.Ask) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if found := r.Find(ctx, ask); !found.Record.IsEmpty() {
		t.Fatal("the vendor was faster than its caller")
	}
}

func TestLateCallKeepsItsPlaceUntilItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": {{Name: "at_once", Shape: enrich.Concurrency, Amount: 1}}})
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s"))}, Quota: keeper})
		outlast(t, r, titleAsk(t, "anna", "acme"))
		soon, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := keeper.Acquire(soon, quota.Ask{Provider: "acme"}); err == nil {
			t.Error("another call begins beside the only one allowed")
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		permit, err := keeper.Acquire(t.Context(), quota.Ask{Provider: "acme"})
		if err != nil {
			t.Fatalf("the call has ended, and no other may begin: %v", err)
		}
		permit.Return()
	})
}

func TestLateCallIsChargedWhatItCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper, err := quota.New(quota.Config{Caps: []quota.Cap{{Day: 1500}}}, map[string][]enrich.Limit{"acme": nil}, quota.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = keeper.Close() }()
		r, err := New(Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit charges 100 in 3s"))}, Quota: keeper})
		if err != nil {
			t.Fatal(err)
		}
		outlast(t, r, titleAsk(t, "anna", "acme"))
		next := quota.Ask{Provider: "acme", Price: 1000}
		if refusal := keeper.Forecast(next); refusal.Reason != enrich.ReasonMoneyCap {
			t.Errorf("the price of the call under way is not reserved: %+v", refusal)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if refusal := keeper.Forecast(next); refusal.Reason != "" {
			t.Errorf("the call has ended and charged little: %+v", refusal)
		}
	})
}

func TestFindTellsWhenItsLateCallsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, Parts{
			Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s times 2"))},
			Quota:     newQuota(t, map[string][]enrich.Limit{"acme": nil}),
		})
		begun, brought := time.Now(), false
		ask := titleAsk(t, "anna", "acme")
		ask.Late = func(enrich.Record) { brought = true }
		for range 2 { // the second walk awaits the call of the first
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			found := r.Find(ctx, ask)
			cancel()
			if found.UnderWay == nil {
				t.Fatal("nothing is under way after a call that outlasted its walk")
			}
			defer func() {
				<-found.UnderWay
				if !brought || time.Since(begun) != 3*time.Second {
					t.Errorf("told after %s, want when the answer had been handed over", time.Since(begun))
				}
			}()
		}
		if found := r.Find(t.Context(), ask); found.UnderWay != nil {
			t.Error("something is under way after an answer")
		}
	})
}

func TestLateAnswersTeach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, Parts{
			Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s"))},
			Quota:     newQuota(t, map[string][]enrich.Limit{"acme": nil}),
		})
		outlast(t, r, titleAsk(t, "anna", "acme"))
		if rate := r.Health()[0].HitRate; rate != 0 {
			t.Errorf("hit rate %v before any answer", rate)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if rate := r.Health()[0].HitRate; rate != 1 {
			t.Errorf("hit rate %v after a late hit", rate)
		}
	})
}

func TestObserversAreToldOfALateCallOnceItHasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told diary
		r := newRouter(t, Parts{
			Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s"))},
			Quota:     newQuota(t, map[string][]enrich.Limit{"acme": nil}), Observer: &told,
		})
		outlast(t, r, titleAsk(t, "anna", "acme"))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := []string{"dropped acme person in_flight", "called acme person hit sales  0s"}
		if len(told.lines) != 2 || told.lines[0] != want[0] || told.lines[1] != want[1] {
			t.Errorf("told %q, want %q", told.lines, want)
		}
	})
}

func TestPanicAfterALateAnswerIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil})
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s"))}, Quota: keeper})
		ask := titleAsk(t, "anna", "acme")
		ask.Late = func(enrich.Record) { panic("a bug") }
		outlast(t, r, ask)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := r.late.about; len(left) != 0 {
			t.Errorf("%d subjects have late calls after all have ended", len(left))
		}
	})
}
