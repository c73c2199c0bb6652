package router

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const title = enrich.Attribute("person.title")

// newRouter makes a router that is closed when the test ends.
func newRouter(t testing.TB, parts Parts) *Router {
	r, err := New(parts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// asked is a provider that supplies the title.
func asked(name string, lookup providers.Provider) Provider {
	return Provider{Name: name, Lookup: lookup, Calls: []Call{{
		Operation: "person", Kind: enrich.Person, Price: 1000, Supplies: map[enrich.Attribute]Supply{title: {}},
	}}}
}

func scriptedVendor(name, script string) *testVendor {
	lines, err := parseScript(script, enrich.Person)
	if err != nil {
		panic(err)
	}
	return &testVendor{
		name: name, script: lines, free: make(chan struct{}),
		price: func([]enrich.Attribute) enrich.Micros { return 1000 },
	}
}

// newPair makes a router that asks acme, which answers by the script, and else bolt,
// which knows. Neither has limits; the quota can pause both.
func newPair(t *testing.T, script string) (*Router, *quota.Keeper) {
	acme, bolt := asked("acme", scriptedVendor("acme", script)), asked("bolt", scriptedVendor("bolt", "hit"))
	keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})
	return newRouter(t, Parts{Providers: []Provider{acme, bolt}, Quota: keeper}), keeper
}

func titleAsk(t *testing.T, name string, sources ...string) enrich.Ask {
	return enrich.Ask{
		Subject: subjectOf(t, name),
		Needs:   []enrich.Need{{Attribute: title, Sources: sources}},
		Account: enrich.Account{Name: "sales"},
	}
}

// TestFallback asks a primary and a secondary of which one is in trouble: the
// other one answers, and nobody waits for the troubled one.
func TestFallback(t *testing.T) {
	for _, trouble := range []struct {
		name, script, reason string
		prepare              func(*quota.Keeper)
	}{
		{"429 with a hint", "rate_limited wait 30s", "rate_limited", nil},
		{"bare 429", "rate_limited", "rate_limited", nil},
		{"401", "auth_failed", "auth_failed", nil},
		{"402", "quota_exhausted", "quota_exhausted", nil},
		{"403", "forbidden", "forbidden", nil},
		{"408", "timeout", "timeout", nil},
		{"5xx", "temporary", "temporary", nil},
		{"timeout", "hang", "timeout", nil},
		{"blocked", "blocked", "blocked", nil},
		{"invalid input", "invalid_input", "invalid_input", nil},
		{"unreadable", "malformed", "malformed", nil},
		{"expired", "expired", "expired", nil},
		{"endless job", "pending wait 60s", "timeout", nil},
		{"panic", "panic", "malformed", nil},
		{"open breaker", "temporary", "breaker_open", nil},
		{"no tokens", "hit", "no_token", func(k *quota.Keeper) {
			permit, err := k.Acquire(context.Background(), quota.Ask{Provider: "troubled"})
			if err != nil {
				panic(err)
			}
			permit.Settle(enrich.Charge{}, nil)
		}},
		{"operator's pause", "hit", "paused", func(k *quota.Keeper) { k.Pause("troubled", time.Time{}, enrich.PausedByOperator) }},
	} {
		for _, place := range []string{"primary", "secondary"} {
			t.Run(strings.ReplaceAll(trouble.name, " ", "_")+"/"+place, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					limit := bucket(1000, time.Second)
					if trouble.reason == enrich.ReasonNoToken {
						limit = bucket(1, time.Hour)
					}
					quota := newQuota(t, map[string][]enrich.Limit{"troubled": {limit}, "other": nil})
					if trouble.prepare != nil {
						trouble.prepare(quota)
					}
					troubled := asked("troubled", scriptedVendor("troubled", trouble.script))
					knows := "hit"
					if place == "secondary" {
						knows = "miss"
					}
					other := asked("other", scriptedVendor("other", knows))
					order := []Provider{troubled, other}
					if place == "secondary" {
						slices.Reverse(order)
					}
					r := newRouter(t, Parts{Config: Config{AttemptTimeout: 4 * time.Second, Attempts: 2}, Providers: order, Quota: quota, Random: func() float64 { return 0 }})
					if trouble.reason == enrich.ReasonBreakerOpen {
						trip(r.current.Load().routes[slices.IndexFunc(r.current.Load().routes, func(rt *route) bool { return rt.name == "troubled" })])
					}
					ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
					defer cancel()
					began := time.Now()
					found := r.Find(ctx, titleAsk(t, "anna", "troubled", "other"))
					best, ok := found.Record.Best(title, func(f enrich.Fact) bool { return f.State == enrich.StateValue })
					switch {
					case place == "primary" && (!ok || best.Source != "other"):
						t.Errorf("the secondary's title is not in the answer: %v", found)
					case place == "primary" && (len(found.Failed) > 0 || found.Err != nil):
						t.Errorf("an answer was found, and yet: %v, %v", found.Failed, found.Err)
					case place == "secondary" && found.Failed[title] != trouble.reason:
						t.Errorf("failed because of %q, want %q", found.Failed[title], trouble.reason)
					case place == "secondary" && found.Err == nil:
						t.Error("nothing was found because somebody failed, and no error says what to do")
					}
					if took := time.Since(began); took > 20*time.Second {
						t.Errorf("took %s", took)
					}
				})
			})
		}
	}
}

func trip(rt *route) {
	for range 5 {
		if report, ok := rt.breaker.allow(); ok {
			report(failing)
		}
	}
}

// TestAnyTrouble asks random questions of providers in random trouble and holds
// every promise that does not depend on which.
func TestAnyTrouble(t *testing.T) {
	for seed := range uint64(300) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { anyTrouble(t, rand.New(rand.NewPCG(seed, 1))) })
		})
	}
}

func anyTrouble(t *testing.T, dice *rand.Rand) {
	limits := map[string][]enrich.Limit{}
	config := Config{Attempts: 1 + dice.IntN(4), MinAttempt: 50 * time.Millisecond, AttemptTimeout: 5 * time.Second}
	if dice.IntN(2) == 0 {
		config.Order = Cheapest
	}
	var order []Provider
	var vendors []*guard
	var names []string
	for i := range 1 + dice.IntN(3) {
		name := fmt.Sprint("vendor", i)
		v := &guard{testVendor: scriptedVendor(name, anyScript(dice)), t: t, timeout: config.AttemptTimeout, about: map[string]time.Time{}}
		// One call at a time: a permit that is never ended would close the
		// provider.
		limits[name] = []enrich.Limit{{Name: "at_once", Shape: enrich.Concurrency, Amount: 1}}
		if dice.IntN(3) == 0 {
			limits[name] = append(limits[name], bucket(1+dice.IntN(5), 10*time.Second))
		}
		vendors, names = append(vendors, v), append(names, name)
		order = append(order, asked(name, v))
	}
	keeper := newQuota(t, limits)
	for _, v := range vendors {
		v.quota = keeper
	}
	r := newRouter(t, Parts{Config: config, Providers: order, Quota: keeper, Random: func() float64 { return 0.5 }})
	for i := range 10 {
		ask := titleAsk(t, fmt.Sprint("caller", i%3), names...)
		ask.Lane = []enrich.Lane{enrich.Interactive, enrich.Standard, enrich.Bulk}[dice.IntN(3)]
		limit := enrich.Micros(dice.IntN(4000))
		if dice.IntN(2) == 0 {
			ask.Purse = enrich.NewPurse(limit)
		}
		budget := time.Duration(1+dice.IntN(30_000)) * time.Millisecond
		ctx, cancel := context.WithTimeout(t.Context(), budget)
		patience := budget
		if dice.IntN(4) == 0 {
			patience = time.Duration(dice.Int64N(int64(budget)))
			time.AfterFunc(patience, cancel)
		}
		for _, v := range vendors {
			v.expect(min(budget-config.MinAttempt, patience))
		}
		began := time.Now()
		found := r.Find(ctx, ask)
		cancel()

		if took := time.Since(began); took > budget+callGrace {
			t.Errorf("took %s of a budget of %s", took, budget)
		}
		var spent enrich.Micros
		calls := map[string]int{}
		for _, attempt := range found.Attempts {
			spent += attempt.Charged.Micros
			if attempt.Outcome.Authoritative() || attempt.Outcome == enrich.Pending {
				continue
			}
			if calls[attempt.Provider]++; calls[attempt.Provider] > config.Attempts+1 {
				t.Errorf("%s failed or refused %d times, %d attempts and a resubmission are allowed", attempt.Provider, calls[attempt.Provider], config.Attempts)
			}
		}
		if ask.Purse != nil && spent > limit {
			t.Errorf("spent %d of %d", spent, limit)
		}
		_, ok := found.Record.Best(title, func(f enrich.Fact) bool { return f.State == enrich.StateValue })
		if _, failed := found.Failed[title]; ok && failed {
			t.Error("a title was found and failed")
		}
		time.Sleep(time.Duration(dice.IntN(5000)) * time.Millisecond)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	for _, name := range names {
		if refusal := keeper.Forecast(quota.Ask{Provider: name}); refusal.Reason == enrich.ReasonNoToken && len(limits[name]) == 1 {
			t.Errorf("a permit to call %s was never ended", name)
		}
	}
	for _, v := range vendors {
		close(v.free)
	}
}

// guard is a vendor that is never called too late, while it is paused, or twice
// at once about one subject.
type guard struct {
	*testVendor
	t       *testing.T
	quota   *quota.Keeper
	timeout time.Duration

	mu     sync.Mutex
	latest time.Time
	about  map[string]time.Time // subjects of the calls under way, and when those began
}

// expect lets calls begin for so long.
func (g *guard) expect(calls time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.latest = time.Now().Add(calls)
}

// begin notes a call under way and returns what ends it.
func (g *guard) begin(subject string) (end func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if late := time.Since(g.latest); late > 0 {
		g.t.Errorf("%s is called %s too late", g.name, late)
	}
	// A call that is stuck even when its time is over is given up.
	if began, ok := g.about[subject]; ok && time.Since(began) < g.timeout+callGrace {
		g.t.Errorf("%s is called though a call about the same subject is under way", g.name)
	}
	began := time.Now()
	g.about[subject] = began
	return func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.about[subject].Equal(began) {
			delete(g.about, subject)
		}
	}
}

func (g *guard) Lookup(ctx context.Context, query providers.Query) providers.Reply {
	defer g.begin(query.Subject.Key().Reveal())()
	if _, ok := ctx.Deadline(); !ok {
		g.t.Errorf("a call to %s has no deadline", g.name)
	}
	if refusal := g.quota.Forecast(quota.Ask{Provider: g.name}); refusal.Reason == enrich.ReasonPaused {
		g.t.Errorf("%s is called while it is paused", g.name)
	}
	return g.testVendor.Lookup(ctx, query)
}

func anyScript(dice *rand.Rand) string {
	var lines []string
	for range 1 + dice.IntN(12) {
		word := []string{
			"hit", "hit", "hit", "miss", "partial masks title", "suppressed", "pending", "pending wait 500ms", "pending wait 20s", "step",
			"rate_limited", "rate_limited wait 100ms", "rate_limited wait 9s", "rate_limited resets 1h", "blocked", "quota_exhausted wait 5s",
			"invalid_input", "temporary", "temporary", "temporary wait 3s", "hang", "stuck", "panic", "exit", "malformed", "expired", "timeout",
		}[dice.IntN(27)]
		lines = append(lines, word+fmt.Sprintf(" in %dms", dice.IntN(3000)))
	}
	return strings.Join(lines, ", then ")
}

// TestPurseIsShared asks about a person and their company side by side with
// money for one call.
func TestPurseIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		person, company := scriptedVendor("acme", "hit"), scriptedVendor("bolt", "hit")
		firm := asked("bolt", company)
		firm.Calls[0].Kind, firm.Calls[0].Operation = enrich.Company, "company"
		firm.Calls[0].Supplies = map[enrich.Attribute]Supply{"company.name": {}}
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", person), firm}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
		purse := enrich.NewPurse(1500)
		answers := make(chan enrich.Found)
		for _, ask := range []enrich.Ask{
			{Subject: subjectOf(t, "anna"), Needs: []enrich.Need{{Attribute: title, Sources: []string{"acme"}}}, Purse: purse},
			{Subject: subjectOf(t, "example.com"), Needs: []enrich.Need{{Attribute: "company.name", Sources: []string{"bolt"}}}, Purse: purse},
		} {
			go func() { answers <- r.Find(t.Context(), ask) }()
		}
		one, two := <-answers, <-answers
		if len(one.Attempts)+len(two.Attempts) != 1 {
			t.Errorf("%d calls were made with money for one", len(one.Attempts)+len(two.Attempts))
		}
		poor := one
		if len(one.Attempts) == 1 {
			poor = two
		}
		if poor.Err == nil || poor.Err.Kind != enrich.OutOfMoney {
			t.Errorf("who got nothing is told %v, want out_of_money", poor.Err)
		}
	})
}

func TestSourcesOfAnAccount(t *testing.T) {
	acme, bolt := asked("acme", scriptedVendor("acme", "hit")), asked("bolt", scriptedVendor("bolt", "hit"))
	acme.Calls[0].Supplies["person.mobile_phone"] = Supply{Extra: 80_000}
	r := newRouter(t, Parts{Providers: []Provider{acme, bolt}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
	all := enrich.Account{}
	for name, c := range map[string]struct {
		got  []string
		want []string
	}{
		"in the listed order":        {r.Sources(all, title), []string{"acme", "bolt"}},
		"priced on its own":          {r.Sources(all, "person.mobile_phone"), []string{"acme"}},
		"included in the call":       {r.Included(all, title), []string{"acme", "bolt"}},
		"opt-in":                     {r.Included(all, "person.mobile_phone"), nil},
		"nobody's":                   {r.Sources(all, "company.name"), nil},
		"unheard of":                 {r.Sources(all, "person.shoe_size"), nil},
		"provider not for account":   {r.Sources(enrich.Account{Providers: []string{"bolt"}}, title), []string{"bolt"}},
		"attribute not for account":  {r.Sources(enrich.Account{Attributes: []enrich.Attribute{"person.city"}}, title), nil},
		"no provider for an account": {r.Sources(enrich.Account{Providers: []string{}}, title), nil},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
}

func TestHealthAndResume(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit times 3, then forbidden, then hit"))}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil}), Random: func() float64 { return 0 }})
		for range 4 {
			r.Find(t.Context(), titleAsk(t, "anna", "acme"))
		}
		health := r.Health()[0]
		if health.Breaker != BreakerClosed || !slices.Equal(health.Forbidden, []string{"person"}) || health.HitRate != 1 {
			t.Errorf("health %+v", health)
		}
		trip(r.current.Load().routes[0])
		if health = r.Health()[0]; health.Breaker != BreakerOpen || !health.OpenUntil.Equal(time.Now().Add(15*time.Second)) {
			t.Errorf("health %+v, want open for 15s", health)
		}
		if err := r.Resume("acme"); err != nil || len(r.Health()[0].Forbidden) != 0 {
			t.Errorf("resumed: %v, %+v", err, r.Health()[0])
		}
		if err := r.Resume("nobody"); err == nil {
			t.Error("nobody was resumed")
		}
	})
}

func TestNewReportsEverythingAtOnce(t *testing.T) {
	_, err := New(Parts{
		Config: Config{
			Order: "random", MinConfidence: 2, Attempts: -1, RetryRatio: 3, Pause: -1, RefusalsKept: -1,
			Backoff: Backoff{Base: time.Second, Cap: time.Millisecond}, AttemptTimeout: time.Millisecond,
			Breaker: BreakerConfig{Failures: -1, Ratio: 2, Least: -1, Window: -1, OpenFor: -1, Probes: -1},
		},
		Providers: []Provider{
			{Name: "acme", Timeout: -1},
			{Name: "acme", Lookup: scriptedVendor("acme", "hit"), Calls: []Call{
				{Operation: "a", Price: -1},
				{Operation: "b", Supplies: map[enrich.Attribute]Supply{"person.shoe_size": {}, "company.name": {}, title: {Confidence: 7, Extra: -1}}},
			}},
			{},
		},
	})
	for _, want := range []string{
		"order:", "min_confidence:", "attempts:", "retry_ratio:", "pause:", "refusals_kept:", "backoff.cap:", "attempt_timeout:",
		"breaker.failures:", "breaker.ratio:", "breaker.least:", "breaker.window:", "breaker.open_for:", "breaker.probes:",
		"needs a quota", "listed twice", "nothing makes its calls", "offers no call", "a duration is negative", "has no name",
		"a: the price is negative", "a: it supplies nothing", "no attribute \"person.shoe_size\"", "company.name is not about a person",
		"confidence 7", "the extra price is negative",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nobody says %q: %v", want, err)
		}
	}
	if err := errors.Join(Config{}.Validate()...); err != nil {
		t.Errorf("the zero Config is refused: %v", err)
	}
}
