package enrich

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// plans answers by the plan that is asked: the shadow plan as given, the account's
// own with a value for every need.
func plans(shadow func(context.Context, Ask) Found) func(context.Context, Ask) Found {
	return func(ctx context.Context, ask Ask) Found {
		if ask.Account.Plan == "new" {
			return shadow(ctx, ask)
		}
		return knows(ctx, ask)
	}
}

func inShadow(email string, dayCap Micros) Request {
	return Request{
		ID: "r1", Email: email, Wanted: []Attribute{"person.title", "person.city"},
		Account: Account{Name: "sales", Plan: "old", Shadow: Shadow{Plan: "new", DayCap: dayCap}},
	}
}

func TestAShadowPlanIsOnlyCompared(t *testing.T) {
	other := func(ctx context.Context, ask Ask) Found {
		return stating(ask, func(a Attribute) Fact {
			if a == "person.city" {
				return Fact{State: StateAbsent}
			}
			return Fact{State: StateValue, Value: TextValue("another value"), Confidence: 1}
		})
	}
	fails := func(ctx context.Context, ask Ask) Found { return throttled(time.Second)(ctx, ask) }
	for _, test := range []struct {
		name        string
		shadow      func(context.Context, Ask) Found
		title, city Difference
	}{
		{"the same", knows, SameAnswer, SameAnswer},
		{"another value and none", other, DifferentAnswer, OnlyOld},
		{"nothing", knowsNothing, OnlyOld, OnlyOld},
		{"a failure", fails, NotCompared, NotCompared},
		{"a panic", func(context.Context, Ask) Found { panic("a bug") }, NotCompared, NotCompared},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				service, finder := newService(t, plans(func(ctx context.Context, ask Ask) Found {
					time.Sleep(time.Second)
					return test.shadow(ctx, ask)
				}))
				var log bytes.Buffer
				service.Log = slog.New(slog.NewTextHandler(&log, nil))
				begun := time.Now()
				answer := mustEnrich(t, service, inShadow("jane.doe@acme.example", 1000))
				if answer.Completeness != Complete || answer.Cost != 100 || time.Since(begun) != 0 {
					t.Errorf("after %s: %+v", time.Since(begun), answer)
				}
				if err := service.Close(t.Context()); err != nil {
					t.Fatal(err)
				}
				want := []Comparison{{"sales", "new", "person.city", test.city, 1}, {"sales", "new", "person.title", test.title, 1}}
				if got := service.Comparisons(); !slices.Equal(got, want) {
					t.Errorf("comparisons = %v, want %v", got, want)
				}
				if len(finder.asks) != 2 || finder.asks[1].Lane != Bulk {
					t.Errorf("asks = %+v", finder.asks)
				}
				for _, fact := range service.Cache.(*memory).records[keyOf(t, service, "jane.doe@acme.example").Reveal()].Facts() {
					if fact.Value.Text() != "value of "+string(fact.Attribute) {
						t.Error("what the shadow plan found is remembered")
					}
				}
				if text := log.String(); strings.Contains(text, "value of") || strings.Contains(text, "another") || strings.Contains(text, "jane") ||
					strings.Contains(text, "differs") != (test.title != SameAnswer) {
					t.Errorf("log = %s", text)
				}
			})
		})
	}
}

func TestAShadowPlanHasNothingToSayOfWhatIsKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, plans(knows))
		for range 3 {
			mustEnrich(t, service, inShadow("jane.doe@acme.example", 1000))
			synctest.Wait()
		}
		if len(finder.asks) != 2 {
			t.Errorf("%d asks, want one of each plan", len(finder.asks))
		}
	})
}

// TestAShadowPlanKeepsToItsDayCap has every look-up of the shadow plan cost 40.
func TestAShadowPlanKeepsToItsDayCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		paid := 0
		service, _ := newService(t, plans(func(ctx context.Context, ask Ask) Found {
			if !ask.Purse.Reserve(40) {
				return throttled(time.Hour)(ctx, ask)
			}
			paid++
			return knows(ctx, ask)
		}))
		ask := func(dayCap Micros, requests int) int {
			before := paid
			for range requests {
				mustEnrich(t, service, inShadow(fmt.Sprintf("lead%d@acme.example", time.Now().UnixNano()), dayCap))
				synctest.Wait()
				time.Sleep(time.Second)
			}
			return paid - before
		}
		for _, step := range []struct {
			what   string
			dayCap Micros
			want   int
		}{{"no money", 0, 0}, {"100", 100, 2}, {"100 more", 200, 3}, {"less than is spent", 50, 0}} {
			if got := ask(step.dayCap, 5); got != step.want {
				t.Errorf("with %s: %d look-ups were paid for, want %d", step.what, got, step.want)
			}
		}
		time.Sleep(day)
		if got := ask(100, 5); got != 2 {
			t.Errorf("on the next day %d look-ups were paid for", got)
		}
	})
}

func TestShadowsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, plans(func(ctx context.Context, ask Ask) Found {
			<-ctx.Done()
			return throttled(0)(ctx, ask)
		}))
		for i := range 2 * mostShadows {
			mustEnrich(t, service, inShadow(fmt.Sprintf("lead%d@acme.example", i), 0))
		}
		synctest.Wait()
		if len(finder.asks) != 3*mostShadows {
			t.Errorf("%d asks, want all of the own plan and %d of the shadow plan", len(finder.asks), mostShadows)
		}
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestATrialHasItsPlanAskedForItsSubjects has half of the subjects on trial.
func TestATrialHasItsPlanAskedForItsSubjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		for i := range 100 {
			mustEnrich(t, service, Request{Email: fmt.Sprintf("lead%d@acme.example", i), Wanted: []Attribute{"person.title"},
				Account: Account{Plan: "old", Trial: Trial{Plan: "new", Percent: 50}}})
		}
		asked := map[string]int{}
		for _, ask := range finder.asks {
			asked[ask.Account.Plan]++
		}
		if asked["new"] < 25 || asked["old"] < 25 {
			t.Errorf("plans asked: %v", asked)
		}
	})
}
