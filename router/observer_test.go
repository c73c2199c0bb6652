package router

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// diary notes what an observer is told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

var _ Observer = (*diary)(nil)

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Dropped(provider, operation, reason string) {
	d.note("dropped %s %s %s", provider, operation, reason)
}

func (d *diary) Called(e Exchange) {
	d.note("called %s %s %s %s %s %s", e.Provider, e.Operation, e.Outcome, e.Account, e.Lane, e.Waited)
}

func (d *diary) Retried(provider, reason string) { d.note("retried %s %s", provider, reason) }

func (d *diary) Paused(provider string, until time.Time, reason enrich.PauseReason) {
	d.note("paused %s %s %s", provider, time.Until(until), reason)
}

func (d *diary) BreakerChanged(provider string, state BreakerState) {
	d.note("breaker %s %s", provider, state)
}

func (d *diary) Drifted(provider string, a enrich.Attribute) { d.note("drifted %s %s", provider, a) }

// replies answers with one reply after the other.
type replies struct{ left []providers.Reply }

func (r *replies) Lookup(context.Context, providers.Query) providers.Reply {
	reply := r.left[0]
	r.left = r.left[1:]
	return reply
}

func TestObserverIsToldEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := 500 * time.Millisecond
		hit := providers.Reply{
			Outcome: enrich.Partial, Charge: enrich.KnownCharge(1000), Drift: []enrich.Attribute{title},
			Facts: []enrich.Fact{
				{Attribute: title, State: enrich.StateAbsent, Source: "acme"},
				{Attribute: "company.name", State: enrich.StateValue, Value: enrich.TextValue("Example"), Source: "acme"}, // nobody asked
			},
		}
		vendor := &replies{left: []providers.Reply{
			{Outcome: enrich.Temporary, Charge: enrich.KnownCharge(0)},
			{Outcome: enrich.RateLimited, Wait: &wait, Charge: enrich.KnownCharge(0)},
			hit,
		}}
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})
		keeper.Pause("bolt", time.Time{}, enrich.PausedByOperator)
		var told diary
		r := newRouter(t, Parts{
			Config:    Config{Breaker: BreakerConfig{Failures: 2}},
			Providers: []Provider{asked("acme", vendor), asked("bolt", vendor)},
			Quota:     keeper, Observer: &told, Random: func() float64 { return 0 },
		})
		ask := titleAsk(t, "anna", "acme", "bolt")
		ask.Lane = enrich.Standard
		found := r.Find(t.Context(), ask)
		want := []string{
			"dropped bolt person paused",
			"called acme person temporary sales standard 0s",
			"retried acme temporary",
			"called acme person rate_limited sales standard 250ms",
			"paused acme 500ms retry_after",
			"retried acme rate_limited",
			"called acme person partial sales standard 500ms",
			"drifted acme person.title",
		}
		if !slices.Equal(told.lines, want) {
			t.Errorf("told %q,\nwant %q", told.lines, want)
		}
		if facts := found.Record.Facts(); len(facts) != 1 || facts[0].Attribute != title {
			t.Errorf("the record of a person holds %v", facts)
		}
		told.lines = nil
		trip(r.current.Load().routes[0])
		if !slices.Equal(told.lines, []string{"breaker acme open"}) {
			t.Errorf("told %q of an open breaker", told.lines)
		}
	})
}
