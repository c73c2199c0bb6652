package router

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

// exchanges answers a look-up with one reply after the other, a second each. The
// first is the call, the rest are polls or steps.
type exchanges struct {
	replies []providers.Reply
	poll    bool
	during  func(n int) // called in the middle of each
	after   func(n int) // called when it has been answered
}

func (e *exchanges) Lookup(ctx context.Context, query providers.Query) providers.Reply {
	n := len(e.replies)
	reply := e.replies[0]
	e.replies = e.replies[1:]
	if reply.Outcome == enrich.Pending {
		reply.Next = &providers.Step{Operation: "poll", Poll: e.poll, Delay: 3 * time.Second}
	}
	if reply.Outcome == enrich.Hit {
		reply.Facts = []enrich.Fact{{Attribute: title, State: enrich.StateValue, Value: enrich.TextValue("CEO"), Source: "acme"}}
	}
	e.during(n)
	time.AfterFunc(time.Second, func() { e.after(n) })
	sleep(ctx, 500*time.Millisecond)
	return reply
}

// TestJobIsChargedOnce: the price of a job is reserved from its first exchange to
// its last, and what it charged is spent then: never twice, never nothing.
func TestJobIsChargedOnce(t *testing.T) {
	known, unknown := enrich.KnownCharge, enrich.Charge{}
	reply := func(outcome enrich.Outcome, charge enrich.Charge) providers.Reply {
		return providers.Reply{Outcome: outcome, Charge: charge}
	}
	for name, c := range map[string]struct {
		replies []providers.Reply
		spent   enrich.Micros
	}{
		"one call":                      {[]providers.Reply{reply(enrich.Hit, known(80))}, 80},
		"one call, nobody knows":        {[]providers.Reply{reply(enrich.Timeout, unknown)}, 100},
		"refused, then a hit":           {[]providers.Reply{reply(enrich.RateLimited, known(0)), reply(enrich.Hit, known(80))}, 80},
		"job charged at its end":        {[]providers.Reply{reply(enrich.Pending, known(0)), reply(enrich.Pending, known(0)), reply(enrich.Hit, known(80))}, 80},
		"job whose submit may charge":   {[]providers.Reply{reply(enrich.Pending, unknown), reply(enrich.Pending, unknown), reply(enrich.Hit, known(80))}, 80},
		"job dearer than its price":     {[]providers.Reply{reply(enrich.Pending, unknown), reply(enrich.Hit, known(130))}, 130},
		"two priced steps":              {[]providers.Reply{reply(enrich.Pending, known(30)), reply(enrich.Hit, known(70))}, 100},
		"job lost":                      {[]providers.Reply{reply(enrich.Pending, known(0)), reply(enrich.Blocked, unknown)}, 100},
		"second step, nobody knows":     {[]providers.Reply{reply(enrich.Pending, known(30)), reply(enrich.Malformed, unknown)}, 100},
		"poll fails and is asked again": {[]providers.Reply{reply(enrich.Pending, known(0)), reply(enrich.Temporary, known(0)), reply(enrich.Hit, known(80))}, 80},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const room = 1000
				keeper, err := quota.New(quota.Config{Caps: []quota.Cap{{Day: room}}}, map[string][]enrich.Limit{"acme": nil}, quota.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = keeper.Close() }()
				affords := func(price enrich.Micros) bool {
					return keeper.Forecast(quota.Ask{Provider: "acme", Price: price}).Reason == ""
				}
				vendor := &exchanges{replies: c.replies, poll: true, during: func(int) {
					if affords(room - 99) {
						t.Error("its price is not reserved while a call is under way")
					}
				}}
				vendor.after = func(n int) {
					if pending := c.replies[len(c.replies)-n].Outcome == enrich.Pending; pending && affords(room-99) {
						t.Error("its price is not reserved between two exchanges")
					}
				}
				offer := asked("acme", vendor)
				offer.Calls[0].Price = 100
				r := newRouter(t, Parts{Providers: []Provider{offer}, Quota: keeper, Random: func() float64 { return 0 }})
				r.Find(t.Context(), titleAsk(t, "anna", "acme"))
				keeper.Resume("acme")
				if !affords(room-c.spent) || affords(room-c.spent+1) {
					t.Errorf("not just %d is spent", c.spent)
				}
			})
		})
	}
}

// TestAPendingJobHoldsNoPlace: between polls others have the vendor's only place,
// polls count where the limit says so, and not as a subject again.
func TestAPendingJobHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": {
			{Name: "at_once", Shape: enrich.Concurrency, Amount: 1},
			{Name: "subjects", Shape: enrich.FixedWindow, Unit: enrich.Entities, Amount: 10, Window: time.Hour},
			{Name: "polls", Shape: enrich.FixedWindow, Amount: 10, Window: time.Hour, Operations: []string{"poll"}},
		}})
		pending := providers.Reply{Outcome: enrich.Pending, Charge: enrich.KnownCharge(0)}
		free := func() bool { return keeper.Snapshot()[0].Limits[0].Left > 0 }
		vendor := &exchanges{
			replies: []providers.Reply{pending, pending, pending, {Outcome: enrich.Hit, Charge: enrich.KnownCharge(0)}}, poll: true,
			during: func(int) {
				if free() {
					t.Error("the only place is free while a call is under way")
				}
			},
			after: func(int) {
				if !free() {
					t.Error("the only place is taken between two exchanges")
				}
			},
		}
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", vendor)}, Quota: keeper})
		if found := r.Find(t.Context(), titleAsk(t, "anna", "acme")); len(found.Failed) > 0 {
			t.Fatalf("failed: %v", found.Failed)
		}
		for _, level := range keeper.Snapshot()[0].Limits {
			want := map[string]int64{"at_once": 1, "subjects": 9, "polls": 7}[level.Name]
			if level.Left != want {
				t.Errorf("%s: %d left, want %d", level.Name, level.Left, want)
			}
		}
	})
}
