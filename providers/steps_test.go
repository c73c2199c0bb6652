package providers

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

const jobs = `
credit: 1
waits: [{body: retry, unit: s}]
outcomes:
  - {status: 429, outcome: rate_limited}
  - {status: 404, step: result, outcome: expired}
  - {outcome: malformed}
calls:
  person:
    asks: email
    request: {method: POST, path: /jobs, json: {email: $email}}
    outcomes:
      - {status: 200, all: [id], capture: {job: id}, next: result, keep: true}
    steps:
      result:
        poll: {first: 5s, every: 10s, stretch: 2, longest: 30s, max_age: 10m}
        request: {path: /jobs/$job}
        outcomes:
          - {status: 200, where: {state: running}, outcome: pending}
          - {status: 200, where: {state: none}, outcome: miss}
          - {status: 200, outcome: hit}
        hit: {all: [phone]}
        map: {person.phone: phone}
    charge: {hit: 2}
    map: {person.full_name: name, person.title: title}
`

// script answers one call after the other.
func script(answers ...string) http.HandlerFunc {
	next := 0
	return func(w http.ResponseWriter, r *http.Request) {
		answer := answers[min(next, len(answers)-1)]
		next++
		answerWith(200, answer)(w, r)
	}
}

func TestJobsArePolled(t *testing.T) {
	fake := newFake(t, script(`{"id":-9007199254740993,"name":"Anna Weber","title":null}`, `{"state":"running","retry":7}`, `{"state":"running"}`, `{"state":"done","phone":"+493023125000"}`))
	vendor := vendorAt(t, fake.URL, jobs)
	query := person(t, "person.full_name", "person.title", "person.phone")
	began := time.Now()
	var delays []time.Duration
	var waits []*time.Duration
	var reply Reply
	for {
		if reply = vendor.Lookup(context.Background(), query); reply.Next == nil {
			break
		}
		if reply.Outcome != enrich.Pending || reply.Facts != nil || reply.Charge != enrich.KnownCharge(0) {
			t.Fatalf("on the way: %+v", reply)
		}
		if !reply.Next.Poll || reply.Next.Operation != "poll" || reply.Next.Deadline.Before(began.Add(9*time.Minute)) {
			t.Fatalf("next: %+v", reply.Next)
		}
		delays, waits = append(delays, reply.Next.Delay), append(waits, reply.Wait)
		query.Step = reply.Next
	}
	if len(delays) != 3 || delays[0] != 5*time.Second || delays[1] != 10*time.Second || delays[2] != 20*time.Second {
		t.Errorf("delays %v", delays)
	}
	if waits[0] != nil || waits[1] == nil || *waits[1] != 7*time.Second || waits[2] != nil {
		t.Errorf("hints %v", waits)
	}
	if path := fake.calls()[1].request.URL.Path; path != "/jobs/-9007199254740993" {
		t.Errorf("polled %s", path)
	}
	states := map[enrich.Attribute]enrich.State{}
	var price enrich.Micros
	for _, fact := range reply.Facts {
		states[fact.Attribute] = fact.State
		price += fact.Price
		if fact.FetchedAt.After(began.Add(time.Second)) {
			t.Error("the look-up began with its first call")
		}
	}
	if reply.Outcome != enrich.Partial || states["person.full_name"] != enrich.StateValue || states["person.phone"] != enrich.StateValue ||
		states["person.title"] != enrich.StateAbsent || price != 2_000_000 {
		t.Errorf("%s, states %v, price %d", reply.Outcome, states, price)
	}
}

func TestWhatWasFoundBeforeSurvivesTheJob(t *testing.T) {
	for answer, want := range map[string]enrich.Outcome{`{"state":"none"}`: enrich.Partial, `{"strange":1}`: enrich.Malformed} {
		fake := newFake(t, script(`{"id":1,"name":"Anna Weber","title":null}`, answer))
		vendor := vendorAt(t, fake.URL, jobs)
		query := person(t, "person.full_name", "person.phone")
		query.Step = vendor.Lookup(context.Background(), query).Next
		reply := vendor.Lookup(context.Background(), query)
		if reply.Outcome != want || len(reply.Facts) == 0 || reply.Facts[0].Value.Text() != "Anna Weber" {
			t.Errorf("%s: %+v", answer, reply)
		}
		for _, fact := range reply.Facts {
			if want == enrich.Malformed && fact.State != enrich.StateValue {
				t.Errorf("an unreadable answer proves %+v", fact)
			}
		}
	}
}

func TestTwoStepsWithTwoCharges(t *testing.T) {
	fake := newFake(t, script(`{"profile":"x/1"}`, `{"name":"Anna Weber"}`))
	vendor := vendorAt(t, fake.URL, `
credit: 0.1
outcomes: [{outcome: malformed}]
calls:
  person:
    asks: email
    request: {path: /find}
    outcomes:
      - {status: 200, all: [profile], capture: {profile: profile}, next: read}
      - {status: 200, outcome: miss}
    steps:
      read: {request: {path: /read, query: {p: $profile}}, outcomes: [{status: 200, outcome: hit}], map: {person.full_name: name}}
    charge: {next: 10, hit: 1}
`)
	if price := vendor.Calls()[0].Price; price != enrich.KnownCharge(1_100_000) {
		t.Errorf("price %+v", price)
	}
	query := person(t, "person.full_name")
	first := vendor.Lookup(context.Background(), query)
	query.Step = first.Next
	second := vendor.Lookup(context.Background(), query)
	if first.Next.Poll || first.Next.Operation != "read" || first.Charge != enrich.KnownCharge(1_000_000) || second.Charge != enrich.KnownCharge(100_000) {
		t.Errorf("charges %+v and %+v", first.Charge, second.Charge)
	}
	if len(second.Facts) != 1 || second.Facts[0].Price != 1_100_000 || fake.calls()[1].request.URL.Query().Get("p") != "x/1" {
		t.Errorf("facts %+v", second.Facts)
	}
}

func TestCirclesEnd(t *testing.T) {
	fake := newFake(t, script(`{"id":1}`))
	vendor := vendorAt(t, fake.URL, `
outcomes: [{outcome: malformed}]
calls:
  person:
    asks: email
    request: {path: /a}
    outcomes: [{status: 200, next: again}]
    steps:
      again: {request: {path: /b}, outcomes: [{status: 200, next: again}]}
    map: {person.full_name: name}
`)
	query := person(t, "person.full_name")
	for range 50 {
		reply := vendor.Lookup(context.Background(), query)
		if query.Step = reply.Next; query.Step == nil {
			if reply.Outcome != enrich.Malformed {
				t.Errorf("%+v", reply)
			}
			return
		}
	}
	t.Error("the look-up never ends")
}
