package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// saying answers every question about a title with a value.
type saying struct {
	name  string
	takes time.Duration
	calls int
}

func (s *saying) Lookup(ctx context.Context, _ providers.Query) providers.Reply {
	s.calls++
	if !sleep(ctx, s.takes) {
		return providers.Reply{Outcome: enrich.Timeout}
	}
	return providers.Reply{Outcome: enrich.Hit, Charge: enrich.KnownCharge(1000), Facts: []enrich.Fact{{
		Attribute: title, State: enrich.StateValue, Value: enrich.TextValue("CEO"), Source: s.name, Confidence: 0.8,
	}}}
}

// titleBy asks for a title of one account and returns who said it.
func titleBy(t *testing.T, r *Router, account enrich.Account, name string, sources ...string) string {
	t.Helper()
	ask := titleAsk(t, name, sources...)
	ask.Account = account
	found := r.Find(t.Context(), ask)
	best, ok := found.Record.Best(title, func(enrich.Fact) bool { return true })
	if !ok {
		return ""
	}
	return best.Source
}

func TestApplyChangesAllOrNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, bolt := &saying{name: "acme"}, &saying{name: "bolt"}
		listed := []Provider{asked("acme", acme), asked("bolt", bolt)}
		r := newRouter(t, Parts{Providers: listed, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
		account := enrich.Account{Name: "sales"}
		if by := titleBy(t, r, account, "anna", "acme", "bolt"); by != "acme" {
			t.Fatalf("asked %q, want the first", by)
		}

		err := r.Apply(Config{Attempts: -1, Plans: map[string]Plan{"new": {Providers: []string{"cone"}}}}, []Provider{listed[1], listed[1]})
		for _, problem := range []string{"attempts", "listed twice", `no provider is named "cone"`} {
			if err == nil || !strings.Contains(err.Error(), problem) {
				t.Errorf("nobody says %q: %v", problem, err)
			}
		}
		if by := titleBy(t, r, account, "ben", "acme", "bolt"); by != "acme" {
			t.Errorf("asked %q after a change that was refused", by)
		}

		if err := r.Apply(Config{}, []Provider{listed[1], listed[0]}); err != nil {
			t.Fatal(err)
		}
		if by := titleBy(t, r, account, "cleo", "acme", "bolt"); by != "bolt" {
			t.Errorf("asked %q, want the new first", by)
		}
		if err := r.Apply(Config{}, listed[:1]); err != nil {
			t.Fatal(err)
		}
		if sources := r.Sources(account, title); !slices.Equal(sources, []string{"acme"}) {
			t.Errorf("sources = %v, want those that are left", sources)
		}
	})
}

func TestWalksFinishWithWhatTheyBeganWith(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, bolt := &saying{name: "acme", takes: time.Second}, &saying{name: "bolt"}
		quota := newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", acme)}, Quota: quota})
		answered := make(chan string, 1)
		go func() { answered <- titleBy(t, r, enrich.Account{Name: "sales"}, "anna", "acme") }()
		synctest.Wait()
		if err := r.Apply(Config{}, []Provider{asked("bolt", bolt)}); err != nil {
			t.Fatal(err)
		}
		if by := <-answered; by != "acme" {
			t.Errorf("the walk under way was answered by %q", by)
		}
		if bolt.calls != 0 {
			t.Error("the walk under way asked a provider that it did not begin with")
		}
	})
}

// TestApplyForgetsNothing has a provider learn all it can, and stay.
func TestApplyForgetsNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quota := newQuota(t, map[string][]enrich.Limit{"acme": nil})
		script := "hit, then invalid_input, then forbidden, then hit in 3s, then temporary times 9"
		offer := asked("acme", scriptedVendor("acme", script))
		breaker := BreakerConfig{Failures: 4, OpenFor: time.Hour}
		config := Config{Attempts: 1, RetryRatio: -1, Breaker: breaker, AttemptTimeout: 10 * time.Second}
		r := newRouter(t, Parts{Config: config, Providers: []Provider{offer}, Quota: quota, Random: func() float64 { return 0 }})
		find := func(name string, budget time.Duration) enrich.Found {
			ctx, cancel := context.WithTimeout(t.Context(), budget)
			defer cancel()
			return r.Find(ctx, titleAsk(t, name, "acme"))
		}
		// change applies something new each time: timeouts and breakers differ.
		change := func() {
			t.Helper()
			config.AttemptTimeout += time.Second
			config.Breaker.Least++
			if err := r.Apply(config, []Provider{offer}); err != nil {
				t.Fatal(err)
			}
		}
		find("anna", time.Minute)
		find("ben", time.Minute)
		find("cleo", time.Minute)
		change()
		if rate := r.Health()[0].HitRate; rate != 1 {
			t.Errorf("hit rate = %v after one hit", rate)
		}
		if reason := find("ben", time.Minute).Failed[title]; reason != string(enrich.InvalidInput) {
			t.Errorf("asked again about a refused subject: %q", reason)
		}
		if reason := find("dora", time.Minute).Failed[title]; reason != string(enrich.Forbidden) {
			t.Errorf("asked a forbidden operation: %q", reason)
		}
		if err := r.Resume("acme"); err != nil {
			t.Fatal(err)
		}
		find("emil", time.Second) // leaves a late call behind
		change()
		if reason := find("emil", time.Second).Failed[title]; reason != enrich.ReasonInFlight {
			t.Errorf("a late call is forgotten: %q", reason)
		}
		time.Sleep(3 * time.Second)
		for _, name := range []string{"fay", "gil"} {
			find(name, time.Minute)
		}
		change()
		for _, name := range []string{"hal", "ida"} {
			find(name, time.Minute)
		}
		if state := r.Health()[0].Breaker; state != BreakerOpen {
			t.Errorf("breaker is %s after four failures in a row, two before a change", state)
		}
		quota.Resume("acme")
		change()
		if reason := find("jon", time.Second).Failed[title]; reason != enrich.ReasonBreakerOpen {
			t.Errorf("the open breaker is forgotten: %q", reason)
		}
	})
}

func TestPlanOfTheAccountChooses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, bolt := &saying{name: "acme"}, &saying{name: "bolt"}
		dear, cheap := asked("acme", acme), asked("bolt", bolt)
		cheap.Calls[0].Price = 10
		cheap.Calls[0].Supplies = map[enrich.Attribute]Supply{title: {Confidence: 0.5}}
		config := Config{Plans: map[string]Plan{
			"reversed": {Providers: []string{"bolt", "acme"}},
			"frugal":   {Order: Cheapest},
			"sure":     {Providers: []string{"bolt", "acme"}, MinConfidence: 0.7},
			"only":     {Providers: []string{"bolt"}},
		}}
		r := newRouter(t, Parts{Config: config, Providers: []Provider{dear, cheap}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
		for plan, want := range map[string]struct {
			by      string
			sources []string
		}{
			"":         {"acme", []string{"acme", "bolt"}},
			"unknown":  {"acme", []string{"acme", "bolt"}},
			"reversed": {"bolt", []string{"bolt", "acme"}},
			"frugal":   {"bolt", []string{"acme", "bolt"}},
			"sure":     {"acme", []string{"bolt", "acme"}},
			"only":     {"bolt", []string{"bolt"}},
		} {
			account := enrich.Account{Name: "sales", Plan: plan}
			if sources := r.Sources(account, title); !slices.Equal(sources, want.sources) {
				t.Errorf("plan %q: sources = %v, want %v", plan, sources, want.sources)
			}
			if by := titleBy(t, r, account, "anna", "acme", "bolt"); by != want.by {
				t.Errorf("plan %q: asked %q first, want %q", plan, by, want.by)
			}
		}
	})
}

func TestPlansThatCannotBeObeyed(t *testing.T) {
	for problem, plan := range map[string]Plan{
		"plans.p.order: \"dearest\"":               {Order: "dearest"},
		"plans.p.min_confidence: 2":                {MinConfidence: 2},
		"plans.p.providers: is empty":              {Providers: []string{}},
		"plans.p.providers[1]: \"acme\" is listed": {Providers: []string{"acme", "acme"}},
	} {
		problems := Config{Plans: map[string]Plan{"p": plan}}.Validate()
		if len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), problem) {
			t.Errorf("problems = %v, want %s", problems, problem)
		}
	}
}

// TestApplyUnderLoad changes everything while walks come and go: each is
// answered.
func TestApplyUnderLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, bolt := scriptedVendor("acme", "hit in 20ms times 10000"), scriptedVendor("bolt", "hit in 20ms times 10000")
		listed := []Provider{asked("acme", acme), asked("bolt", bolt)}
		r := newRouter(t, Parts{Providers: listed, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
		var callers sync.WaitGroup
		for i := range 40 {
			callers.Go(func() {
				for range 10 {
					if by := titleBy(t, r, enrich.Account{Name: "sales"}, fmt.Sprint("caller", i), "acme", "bolt"); by == "" {
						t.Error("a walk found nobody")
					}
				}
			})
		}
		for i := range 40 {
			config := Config{Breaker: BreakerConfig{Failures: 1 + i%3}, RefusalsKept: 1 + i}
			if err := r.Apply(config, []Provider{listed[i%2], listed[1-i%2]}); err != nil {
				t.Error(err)
			}
			r.Health()
			time.Sleep(5 * time.Millisecond)
		}
		callers.Wait()
	})
}

// TestOtherCredentials: what was found wrong with the former ones is forgotten,
// an operator's pause is not.
func TestOtherCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil})
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "auth_failed, then hit"))}, Quota: keeper})
		failed := func() bool { return len(r.Find(t.Context(), titleAsk(t, "anna", "acme")).Failed) > 0 }
		for range 2 { // the second is not sent: the script would answer it
			if !failed() {
				t.Error("it is asked with a key that it refused")
			}
		}
		if err := r.Renewed("acme"); err != nil || failed() {
			t.Error("it is not asked with the new key", err)
		}
		keeper.Pause("acme", time.Time{}, enrich.PausedByOperator)
		if err := r.Renewed("acme"); err != nil || !failed() {
			t.Error("the operator's pause is over", err)
		}
		if r.Renewed("bolt") == nil {
			t.Error("there is no such provider")
		}
	})
}
