package router

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// offer makes a call of a provider for plans alone. Attributes are bits.
func offer(provider string, price enrich.Micros, bits ...int) standing {
	c := &call{route: &route{name: provider}, operation: "person", price: price, learned: &learned{}}
	for _, bit := range bits {
		c.supplies = c.supplies.with(bit)
	}
	return standing{call: c, open: c.supplies, patience: time.Second}
}

func (s standing) closedFor(reason string, readyAt time.Time) standing {
	s.barred, s.readyAt = reason, readyAt
	return s
}

func (s standing) waits(reason string, wait time.Duration) standing {
	s.waiting, s.readyAt = reason, someday.Add(wait)
	return s
}

func (s standing) awaited(wait time.Duration) standing {
	s.inFlight, s.readyAt = true, someday.Add(wait)
	return s
}

// text writes a plan as "acme[0 1] then bolt[2]; cogs paused".
func (p plan) text() string {
	var legs, drops []string
	for _, l := range p.legs {
		legs = append(legs, fmt.Sprint(l.call.name, slices.Collect(l.wanted.all)))
	}
	for _, d := range p.drops {
		drops = append(drops, fmt.Sprint(d.call.name, slices.Collect(d.missing.all), " ", d.reason))
	}
	return strings.Join(append([]string{strings.Join(legs, " then ")}, drops...), "; ")
}

func TestPlan(t *testing.T) {
	now := circumstances{now: someday, latest: someday.Add(40 * time.Second), missing: 0b111}
	capped := func(c circumstances, micros enrich.Micros) circumstances {
		c.purse = enrich.NewPurse(micros)
		return c
	}
	cheapest := now
	cheapest.cheapest = true
	over := now
	over.latest = someday.Add(-1)
	dear := offer("dear", 10, 0, 1)
	dear.call.extra[1], dear.call.priced = 100, set(0).with(1)
	unpriced := offer("acme", 0, 0)
	unpriced.call.unpriced = true
	sameProvider := offer("acme", 1, 0)
	acme := offer("acme", 10, 0, 1)
	sameProvider.call.route = acme.call.route
	twin := offer("acme", 5, 2)
	twin.call.route = acme.call.route
	parked := offer("acme", 1000, 0, 1, 2)
	parked.parked = 0b10

	for name, c := range map[string]struct {
		given     circumstances
		standings []standing
		want      string
	}{
		"nobody":                    {now, nil, ""},
		"listed order":              {now, []standing{offer("acme", 9, 0, 1), offer("bolt", 1, 0, 1, 2)}, "acme[0 1] then bolt[0 1 2]"},
		"only what is missing":      {now, []standing{offer("acme", 9, 0, 5)}, "acme[0]"},
		"nothing to supply":         {now, []standing{offer("acme", 9, 5, 6)}, ""},
		"cheapest per fact":         {cheapest, []standing{offer("acme", 9, 0), offer("bolt", 12, 0, 1, 2)}, "bolt[0 1 2] then acme[0]"},
		"free first":                {cheapest, []standing{offer("acme", 9, 0), offer("bolt", 0, 0)}, "bolt[0] then acme[0]"},
		"cheapest of equals listed": {cheapest, []standing{offer("acme", 9, 0), offer("bolt", 9, 0)}, "acme[0] then bolt[0]"},
		"unknown price last":        {cheapest, []standing{unpriced, offer("bolt", 900, 0)}, "bolt[0] then acme[0]"},
		"unknown price, capped":     {capped(now, 900), []standing{unpriced}, "; acme[0] money_cap"},
		"open breaker":              {now, []standing{offer("acme", 9, 0).closedFor("breaker_open", someday.Add(1)), offer("bolt", 9, 0)}, "bolt[0]; acme[0] breaker_open"},
		"paused too long":           {now, []standing{offer("acme", 9, 0).waits("paused", time.Minute)}, "; acme[0] paused"},
		"paused for ever":           {now, []standing{{call: acme.call, open: 1, waiting: "paused"}}, "; acme[0] paused"},
		"token within patience":     {now, []standing{offer("acme", 9, 0).waits("no_token", time.Second), offer("bolt", 9, 0)}, "acme[0] then bolt[0]"},
		"token beyond patience":     {now, []standing{offer("acme", 9, 0).waits("no_token", 2*time.Second), offer("bolt", 9, 0)}, "bolt[0] then acme[0]"},
		"soonest of the late":       {now, []standing{offer("acme", 9, 0).waits("no_token", 9*time.Second), offer("bolt", 9, 0).waits("paused", 5*time.Second)}, "bolt[0] then acme[0]"},
		"out of time":               {over, []standing{offer("acme", 9, 0)}, "; acme[0] out_of_time"},
		"too dear":                  {capped(now, 8), []standing{offer("acme", 9, 0), offer("bolt", 8, 0)}, "bolt[0]; acme[0] money_cap"},
		"no money but free":         {capped(now, 0), []standing{offer("acme", 1, 0), offer("bolt", 0, 0)}, "bolt[0]; acme[0] money_cap"},
		"without the dear extra":    {capped(now, 50), []standing{dear}, "dear[0]; dear[1] money_cap"},
		"with the dear extra":       {capped(now, 110), []standing{dear}, "dear[0 1]"},
		"two calls of one provider": {now, []standing{sameProvider, acme, twin}, "acme[0 1] then acme[2]"},
		"the other call steps in":   {now, []standing{sameProvider, acme.closedFor("forbidden", time.Time{}), twin}, "acme[0] then acme[2]; acme[0 1] forbidden"},
		"a job under way is paid":   {capped(now, 0), []standing{parked}, "acme[1]"},
		"a call under way is paid":  {capped(now, 0), []standing{offer("acme", 9, 0).awaited(time.Second)}, "acme[0]"},
		"others before its end":     {now, []standing{offer("acme", 9, 0).awaited(2 * time.Second), offer("bolt", 9, 0)}, "bolt[0] then acme[0]"},
		"its end beyond the budget": {now, []standing{offer("acme", 9, 0).awaited(time.Minute)}, "acme[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := (plan{}).decide(c.given, c.standings).text(); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPlanKeepsTimeOnlyForOthers(t *testing.T) {
	now := circumstances{now: someday, latest: someday.Add(40 * time.Second), missing: 1}
	alone := plan{}.decide(now, []standing{offer("acme", 9, 0)}).legs[0]
	first := plan{}.decide(now, []standing{offer("acme", 9, 0), offer("bolt", 9, 0)}).legs[0]
	late := plan{}.decide(now, []standing{offer("acme", 9, 0), offer("bolt", 9, 0).waits("paused", 9*time.Second)}).legs[0]
	beside := plan{}.decide(now, []standing{offer("acme", 9, 0), offer("bolt", 9, 0).awaited(9 * time.Second)}).legs[0]
	if beside.others {
		t.Error("a call under way needs no time kept")
	}
	if alone.others {
		t.Error("a lone provider must have all the time")
	}
	if !first.others || !first.othersAt.IsZero() {
		t.Error("another provider can be asked at once")
	}
	if !late.others || !late.othersAt.Equal(someday.Add(9*time.Second)) {
		t.Error("another provider follows, but not at once")
	}
}
