package router

import (
	"context"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
)

// atOnce is a vendor that answers without a wait.
type atOnce struct{}

func (atOnce) Lookup(_ context.Context, query providers.Query) providers.Reply {
	reply := providers.Reply{Outcome: enrich.Hit, Charge: enrich.KnownCharge(1000)}
	for _, a := range query.Wanted {
		reply.Facts = append(reply.Facts, enrich.Fact{Attribute: a, State: enrich.StateValue, Value: enrich.TextValue("x"), Source: "acme"})
	}
	return reply
}

// benchRouter has five providers that supply everything about a person.
func benchRouter(b *testing.B, order Order) (*Router, enrich.Ask) {
	everything := map[enrich.Attribute]Supply{}
	ask := enrich.Ask{Subject: subjectOf(b, "anna"), Account: enrich.Account{Name: "sales"}}
	names := []string{"acme", "bolt", "cogs", "dyno", "etch"}
	for _, a := range enrich.AttributesOf(enrich.Person) {
		everything[a] = Supply{Confidence: 0.9}
		ask.Needs = append(ask.Needs, enrich.Need{Attribute: a, Sources: names})
	}
	parts := Parts{Config: Config{Order: order}}
	limits := map[string][]enrich.Limit{}
	for _, name := range names {
		parts.Providers = append(parts.Providers, Provider{Name: name, Lookup: atOnce{}, Calls: []Call{
			{Operation: "person", Kind: enrich.Person, Price: 1000, Supplies: everything},
		}})
		limits[name] = nil
	}
	parts.Quota = newQuota(b, limits)
	r, err := New(parts)
	if err != nil {
		b.Fatal(err)
	}
	return r, ask
}

// BenchmarkPlan is one decision: where five providers stand, and who is asked.
func BenchmarkPlan(b *testing.B) {
	for _, order := range []Order{Listed, Cheapest} {
		b.Run(string(order), func(b *testing.B) {
			r, ask := benchRouter(b, order)
			ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
			defer cancel()
			w := r.newWalk(ctx, ask)
			b.ReportAllocs()
			for b.Loop() {
				if p := w.plan(); len(p.legs) != 5 {
					b.Fatal("five providers could be asked")
				}
			}
		})
	}
}

// BenchmarkDecide is the decision alone.
func BenchmarkDecide(b *testing.B) {
	r, ask := benchRouter(b, Listed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	w := r.newWalk(ctx, ask)
	w.plan()
	c := circumstances{now: time.Now(), latest: w.deadline, missing: w.missing}
	b.ReportAllocs()
	for b.Loop() {
		w.planned = w.planned.decide(c, w.standings)
	}
}

// BenchmarkReact is one decision about an answer.
func BenchmarkReact(b *testing.B) {
	wait := time.Second
	s := situation{reply: providers.Reply{Outcome: enrich.RateLimited, Wait: &wait}, attempts: 3, failures: 1, now: time.Now(), patience: time.Hour}
	b.ReportAllocs()
	for b.Loop() {
		react(s)
	}
}

// BenchmarkFind is a whole walk to a provider that answers at once.
func BenchmarkFind(b *testing.B) {
	r, ask := benchRouter(b, Listed)
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if found := r.Find(ctx, ask); len(found.Failed) > 0 {
				b.Fatal(found.Failed)
			}
		}
	})
}
