package fakevendor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// settings of definitions without which they ask for less.
var settings = map[string]map[string]string{"apollo": {"webhook_url": "https://hook.example/apollo"}}

// asker asks one fake vendor through its real definition.
type asker struct {
	name   string
	vendor *providers.Vendor
	fake   *fakevendor.Server
}

// withDefinitions runs a test in a bubble for every definition whose vendor
// has a fake. What both say was written twice from the same facts, so they
// check each other.
func withDefinitions(t *testing.T, edit func(*fakevendor.Vendor), test func(*testing.T, asker)) {
	library := providers.NewLibrary("")
	names, err := library.Names()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if !slices.Contains(fakevendor.Dialects(), name) {
			continue
		}
		definition, err := library.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := fakevendor.Vendor{Limits: fakevendor.Limits{Rules: []strict.Limit{}, Bans: []strict.Ban{}}}
				edit(&fake)
				test(t, ask(t, name, definition.Secrets(), fake))
			})
		})
	}
}

func ask(t *testing.T, name string, secrets []string, fake fakevendor.Vendor) asker {
	server, err := fakevendor.New(fakevendor.Config{Seed: 11, Vendors: map[string]fakevendor.Vendor{name: fake}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	pipe, served := fakevendor.NewPipe(), make(chan error, 1)
	go func() { served <- server.Serve(ctx, pipe) }()
	credentials := map[string]string{}
	for _, secret := range secrets {
		credentials[secret] = "k"
	}
	set, err := providers.New(providers.Config{List: []providers.ProviderConfig{{
		Definition: name, BaseURL: "http://127.0.0.1:1/" + name, AllowPrivate: true,
		Credentials: credentials, Settings: settings[name],
	}}}, providers.Options{Dial: pipe.DialContext})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		set.Close()
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return asker{name, set.Vendors()[0], server}
}

// lookup asks until the last step, with all the patience it takes.
func (a asker) lookup(t *testing.T, subject enrich.Subject, operation string, wanted []enrich.Attribute) (providers.Reply, enrich.Micros) {
	t.Helper()
	query := providers.Query{Subject: subject, Wanted: wanted, Operation: operation}
	charged := enrich.Micros(0)
	for range 20 {
		reply := a.vendor.Lookup(t.Context(), query)
		charged += reply.Charge.Micros
		if reply.Next == nil {
			return reply, charged
		}
		if reply.Next.Poll {
			time.Sleep(max(reply.Next.Delay, time.Second))
		}
		query.Step = reply.Next
	}
	t.Fatalf("%s is pending for ever", operation)
	return providers.Reply{}, 0
}

// wantedOf is all that a call supplies.
func wantedOf(call providers.Call) (wanted []enrich.Attribute) {
	for _, supply := range call.Supplies {
		wanted = append(wanted, supply.Attribute)
	}
	return wanted
}

// subjects of the kind, as many as asked for.
func subjects(t *testing.T, kind enrich.SubjectKind, many int) map[string]enrich.Subject {
	t.Helper()
	asked := map[string]enrich.Subject{}
	first := []string{"ada", "bruno", "k", "greta", "info"}
	last := []string{"north", "ashgrove", "kestrel"}
	for i := range many {
		name := fmt.Sprintf("blue-river%d.example", i)
		if kind == enrich.Company {
			domain, err := email.NormalizeDomain(name)
			if err != nil {
				t.Fatal(err)
			}
			asked[name] = enrich.CompanySubject(domain)
			continue
		}
		name = first[i%len(first)] + "." + last[i%len(last)] + "@" + name
		address, err := email.Normalize(name)
		if err != nil {
			t.Fatal(err)
		}
		asked[name] = enrich.PersonSubject(address)
	}
	return asked
}

// weaker are verdicts of verifiers that have no better word for the truth.
var weaker = map[string][]string{"role": {"valid", "unknown"}, "disposable": {"unknown"}}

// spelt are attributes that a vendor spells in a way of its own which cannot be
// undone: RocketReach has codes of regions alone.
var spelt = map[string]bool{"rocketreach person.region": true}

func TestDefinitionsReadTheTruth(t *testing.T) {
	withDefinitions(t, func(*fakevendor.Vendor) {}, func(t *testing.T, a asker) {
		for _, call := range a.vendor.Calls() {
			values := map[enrich.Attribute]int{}
			wanted := wantedOf(call)
			for name, subject := range subjects(t, call.Kind, 120) {
				truth := a.fake.Truth(name)
				reply, charged := a.lookup(t, subject, call.Operation, wanted)
				before := a.fake.Summary(a.name)
				known := a.fake.Known(a.name, name)
				for _, fact := range reply.Facts {
					if fact.State != enrich.StateValue {
						continue
					}
					values[fact.Attribute]++
					delete(known, string(fact.Attribute))
					got, _ := json.Marshal(fact.Value)
					want, _ := json.Marshal(truth[string(fact.Attribute)])
					status, _ := truth["person.email_status"].(string)
					if string(got) != string(want) && !slices.Contains(weaker[status], fact.Value.Text()) && !spelt[a.name+" "+string(fact.Attribute)] {
						t.Errorf("%s: %s is %s, in truth %s", call.Operation, fact.Attribute, got, want)
					}
				}
				for _, attribute := range wanted {
					if known[string(attribute)] != nil && !fakevendor.Untold(a.name, string(attribute)) {
						t.Errorf("%s: %s of %s is known, and did not come", call.Operation, attribute, name)
					}
				}
				if len(reply.Drift) > 0 {
					t.Errorf("%s: drift in %v", call.Operation, reply.Drift)
				}
				entries := a.fake.Ledger(a.name, uint64(before.Calls)-1, 1)
				if booked := entries[0].Outcome; !alike(booked, reply.Outcome) {
					t.Errorf("%s: read as %s, meant as %s", call.Operation, reply.Outcome, booked)
				}
				if reply.Charge.Known && int64(charged) != before.ChargedMicros {
					t.Errorf("%s: %d micros read, %d billed", call.Operation, charged, before.ChargedMicros)
				}
				if err := a.fake.Reset(fakevendor.Reset{Ledger: true}); err != nil {
					t.Fatal(err)
				}
			}
			for _, attribute := range wanted {
				if values[attribute] == 0 {
					t.Errorf("%s: %s never had a value", call.Operation, attribute)
				}
			}
		}
	})
}

// alike tells whether an outcome was read as it was meant. Partial depends on
// what was asked for, which the vendor does not know.
func alike(meant, read enrich.Outcome) bool {
	found := []enrich.Outcome{enrich.Hit, enrich.Partial}
	return meant == read || slices.Contains(found, meant) && slices.Contains(found, read)
}

func TestDefinitionsReadRefusals(t *testing.T) {
	none := int64(0)
	for _, test := range []struct {
		name string
		edit func(*fakevendor.Vendor)
		want []enrich.Outcome // where vendors answer two things alike, either
	}{
		{"storm", rules(fakevendor.Fault{Kind: fakevendor.Storm}), []enrich.Outcome{enrich.RateLimited}},
		{"failure", rules(fakevendor.Fault{Kind: fakevendor.Brownout}), []enrich.Outcome{enrich.Temporary}},
		{"closed", rules(fakevendor.Fault{Kind: fakevendor.Outage}), []enrich.Outcome{enrich.Temporary}},
		{"half", rules(fakevendor.Fault{Kind: fakevendor.Truncated}), []enrich.Outcome{enrich.Malformed}},
		{"page", rules(fakevendor.Fault{Kind: fakevendor.HTML}), []enrich.Outcome{enrich.Malformed}},
		{"huge", rules(fakevendor.Fault{Kind: fakevendor.Huge}), []enrich.Outcome{enrich.Malformed}},
		{"no credits", func(v *fakevendor.Vendor) { v.Account.Credits = &none }, []enrich.Outcome{enrich.QuotaExhausted}},
		{"wrong key", func(v *fakevendor.Vendor) { v.Account.Keys = []string{"another"} }, []enrich.Outcome{enrich.AuthFailed}},
		{"objection", func(v *fakevendor.Vendor) { v.Data.Suppressed = 1 }, []enrich.Outcome{enrich.Suppressed, enrich.Miss}},
	} {
		t.Run(test.name, func(t *testing.T) {
			edit := func(v *fakevendor.Vendor) {
				v.Data = &fakevendor.Data{}
				test.edit(v)
			}
			withDefinitions(t, edit, func(t *testing.T, a asker) {
				call := a.vendor.Calls()[0]
				for _, subject := range subjects(t, call.Kind, 1) {
					reply, _ := a.lookup(t, subject, call.Operation, wantedOf(call))
					if !slices.Contains(append(test.want, confused[a.name+" "+test.name]...), reply.Outcome) {
						t.Errorf("%s: read as %s, want %v", call.Operation, reply.Outcome, test.want)
					}
				}
			})
		})
	}
}

// confused are the answers with which a vendor says two things.
var confused = map[string][]enrich.Outcome{
	"fullcontact no credits": {enrich.AuthFailed},
	"fullcontact wrong key":  {enrich.QuotaExhausted},
	"zerobounce no credits":  {enrich.AuthFailed},
	"zerobounce wrong key":   {enrich.QuotaExhausted},
	"clearbit objection":     {enrich.Partial}, // a company without its person
	"zerobounce objection":   {enrich.Hit},
	"neverbounce objection":  {enrich.Hit},
}

func rules(faults ...fakevendor.Fault) func(*fakevendor.Vendor) {
	return func(v *fakevendor.Vendor) { v.Faults.Rules = faults }
}
