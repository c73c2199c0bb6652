package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// recited answers a request from what was rendered, nil for nothing.
func (w *world) recited(t *testing.T, request enrich.Request) []byte {
	t.Helper()
	recital := w.service.Recite(t.Context(), request, enrich.RenderedProto)
	return recital.Sent
}

// learn asks until a rendering of the answer is kept.
func (w *world) learn(t *testing.T, request enrich.Request) {
	t.Helper()
	for range 2 {
		recital := w.service.Recite(t.Context(), request, enrich.RenderedProto)
		if answer := w.enrich(t, request); recital.Keeps(&answer) {
			recital.Keep(t.Context(), &answer, []byte(request.Email))
		}
		synctest.Wait() // what was remembered and kept is there
	}
	if got := w.recited(t, request); string(got) != request.Email {
		t.Fatalf("recited %q after asking twice", got)
	}
}

// TestAnswersAreRecitedWhileTheyHold learns an answer, changes one thing on which
// it depends, and expects it to be made anew.
func TestAnswersAreRecitedWhileTheyHold(t *testing.T) {
	base := enrich.Request{Email: "mara.lindqvist@northwind.example", Account: enrich.Account{Name: "sales"}, Lane: enrich.Interactive}
	for name, change := range map[string]func(*testing.T, *world, *enrich.Request){
		"another spelling": func(_ *testing.T, _ *world, r *enrich.Request) { r.Email = "Mara <" + r.Email + ">" },
		"another person":   func(_ *testing.T, _ *world, r *enrich.Request) { r.Email = "x" + r.Email },
		"another account":  func(_ *testing.T, _ *world, r *enrich.Request) { r.Account.Name = "ops" },
		"other attributes": func(_ *testing.T, _ *world, r *enrich.Request) { r.Wanted = []enrich.Attribute{"person.title"} },
		"fewer rights": func(_ *testing.T, _ *world, r *enrich.Request) {
			r.Account.Attributes = []enrich.Attribute{"person.title"}
		},
		"no rights":       func(_ *testing.T, _ *world, r *enrich.Request) { r.Account.Attributes = []enrich.Attribute{} },
		"fewer providers": func(_ *testing.T, _ *world, r *enrich.Request) { r.Account.Providers = []string{secondary} },
		"a purpose":       func(_ *testing.T, _ *world, r *enrich.Request) { r.Purpose = "support" },
		"purposes to be named": func(_ *testing.T, _ *world, r *enrich.Request) {
			r.Account.Purposes = map[string][]enrich.Attribute{"": nil}
		},
		"another plan":          func(_ *testing.T, _ *world, r *enrich.Request) { r.Account.Plan = "trial" },
		"a lane not allowed":    func(_ *testing.T, _ *world, r *enrich.Request) { r.Account.Lanes = []enrich.Lane{enrich.Bulk} },
		"a refresh":             func(_ *testing.T, _ *world, r *enrich.Request) { r.Cache = enrich.CacheRefresh },
		"the cache only":        func(_ *testing.T, _ *world, r *enrich.Request) { r.Cache = enrich.CacheOnly },
		"an age":                func(_ *testing.T, _ *world, r *enrich.Request) { r.MaxAge = 24 * time.Hour },
		"time":                  func(*testing.T, *world, *enrich.Request) { time.Sleep(2 * time.Hour) },
		"another configuration": func(_ *testing.T, w *world, _ *enrich.Request) { w.service.Apply(enrich.Config{}) },
		"another fact about the company": func(t *testing.T, w *world, r *enrich.Request) {
			answer := w.enrich(t, *r)
			fact := *answer.Found.Of("company.name").Fact
			fact.Source, fact.Confidence = "crm", 1
			w.records.Remember(t.Context(), answer.Domain.Key(), enrich.NewRecord(fact), time.Now().Add(time.Hour))
		},
		"a forgotten person": func(t *testing.T, w *world, r *enrich.Request) {
			if err := w.records.Forget(t.Context(), w.enrich(t, *r).Address.Key()); err != nil {
				t.Fatal(err)
			}
		},
		"a provider that is believed no more": func(t *testing.T, w *world, _ *enrich.Request) {
			if err := w.records.ForgetProvider(t.Context(), primary); err != nil {
				t.Fatal(err)
			}
		},
		"a suppressed person": func(t *testing.T, w *world, r *enrich.Request) {
			if _, err := w.eraser.Suppressions.Add(t.Context(), w.enrich(t, *r).Address.Key()); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				request := base
				w.learn(t, request)
				change(t, w, &request)
				if got := w.recited(t, request); got != nil {
					t.Errorf("recited %q", got)
				}
			})
		})
	}
}

// TestPartsAreRecited learns answers about one of the two subjects while nothing
// is known of the other. Who is suppressed is told of no more, be it only by
// the address that an answer about the company repeats.
func TestPartsAreRecited(t *testing.T) {
	for name, request := range map[string]enrich.Request{
		"the person":                    {Email: "mara.lindqvist@northwind.example", Wanted: []enrich.Attribute{"person.title"}},
		"the company":                   {Email: "mara.lindqvist@northwind.example", Wanted: []enrich.Attribute{"company.name"}},
		"the company of a role address": {Email: "sales@northwind.example"},
		"a person at a mail provider":   {Email: "mara.lindqvist@gmail.com"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.learn(t, request)
				if _, err := w.eraser.Suppressions.Add(t.Context(), w.enrich(t, request).Address.Key()); err != nil {
					t.Fatal(err)
				}
				if got := w.recited(t, request); got != nil {
					t.Errorf("recited %q to who asks about a suppressed person", got)
				}
			})
		})
	}
}

// TestAnswersWithAbsencesAreRecited: that nobody knows something is an answer
// too, and nothing of it is asked for ahead.
func TestAnswersWithAbsencesAreRecited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		absences := 0
		for i := range 20 {
			request := enrich.Request{Email: fmt.Sprintf("lead%d@northwind.example", i), Account: enrich.Account{Name: "sales"}, Lane: enrich.Interactive}
			w.learn(t, request)
			for _, gap := range w.enrich(t, request).Gaps {
				if gap.Kind == enrich.GapAbsent {
					absences++
				}
			}
		}
		if absences == 0 {
			t.Error("the fake vendors knew everything: nothing was shown")
		}
	})
}

// TestRecitedAnswersAreTheSame compares what is made of memory with what is
// recited, over gRPC, alone and in a batch, and over REST.
func TestRecitedAnswersAreTheSame(t *testing.T) {
	_, vendors := startVendors(t)
	program := run(t, vendors, cache.Config{})
	const email = "mara.lindqvist@northwind.example"
	program.enrich(t, email) // from vendors
	made := program.enrich(t, email)
	ask := &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: email}}
	ways := map[string]func(context.Context) *enrichv1.EnrichResponse{
		"gRPC": func(ctx context.Context) *enrichv1.EnrichResponse {
			answer, err := program.grpc.Enrich(ctx, ask)
			if err != nil {
				t.Fatal(err)
			}
			return answer
		},
		"batch": func(ctx context.Context) *enrichv1.EnrichResponse {
			answer, err := program.grpc.BatchEnrich(ctx, &enrichv1.BatchEnrichRequest{Requests: []*enrichv1.EnrichRequest{ask}, Lane: enrichv1.Lane_LANE_INTERACTIVE})
			if err != nil {
				t.Fatal(err)
			}
			return answer.GetResults()[0].GetResponse()
		},
		"REST": func(ctx context.Context) *enrichv1.EnrichResponse {
			request, err := http.NewRequestWithContext(ctx, http.MethodPost, program.rest+"/v1/enrich", bytes.NewReader([]byte(`{"email":"`+email+`"}`)))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			answer := &enrichv1.EnrichResponse{}
			if err := protojson.Unmarshal(text, answer); err != nil {
				t.Fatalf("%v: %s", err, text)
			}
			return answer
		},
	}
	for name, ask := range ways {
		for range 3 {
			if got := ask(t.Context()); !proto.Equal(got, made) {
				t.Errorf("%s answers\n%v\nwant\n%v", name, got, made)
			}
		}
	}
}
