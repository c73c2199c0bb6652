package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestRequestIsTranslatedWhole(t *testing.T) {
	var got enrich.Request
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		got = request
		return enrich.Answer{}, nil
	})
	code, _, body := edge.post(t, `{"email":"x","fields":"person.title,company","lane":"LANE_BULK","budget":"1.5s","maxAge":"60s",
		"maxCostMicros":"0","cache":"CACHE_POLICY_REFRESH","consent":{"basis":"consent","source":"form"},"idempotency_key":"k"}`)
	if code != http.StatusOK {
		t.Fatalf("REST answered %d: %s", code, body)
	}
	if got.Email != "x" || len(got.Wanted) != 17 || got.Lane != enrich.Bulk || got.Budget != 1500*time.Millisecond || got.MaxAge != time.Minute ||
		got.MaxCost == nil || *got.MaxCost != 0 || got.Cache != enrich.CacheRefresh || got.IdempotencyKey != "k" {
		t.Errorf("request = %+v", got)
	}
}

func TestNoAgeMeansRefresh(t *testing.T) {
	var got enrich.Request
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		got = request
		return enrich.Answer{}, nil
	})
	for _, test := range []struct {
		body string
		want enrich.CachePolicy
	}{
		{`{"email":"x"}`, enrich.CacheDefault},
		{`{"email":"x","maxAge":"1s"}`, enrich.CacheDefault},
		{`{"email":"x","maxAge":"0s"}`, enrich.CacheRefresh},
		{`{"email":"x","maxAge":"0s","cache":"CACHE_POLICY_REFRESH"}`, enrich.CacheRefresh},
		{`{"email":"x","maxAge":"0s","cache":"CACHE_POLICY_ONLY"}`, enrich.CacheOnly},
	} {
		if code, _, answer := edge.post(t, test.body); code != http.StatusOK || got.Cache != test.want {
			t.Errorf("%s: answered %d %s with policy %d, want %d", test.body, code, answer, got.Cache, test.want)
		}
	}
}

func TestEachAttributeIsWantedOnce(t *testing.T) {
	wanted, err := readFields(slices.Repeat([]string{"company", "company.name", "person.title"}, 1000))
	if want := len(enrich.AttributesOf(enrich.Company)) + 1; err != nil || len(wanted) != want {
		t.Errorf("%d attributes, %v; want %d", len(wanted), err, want)
	}
}

func TestPathsAreRepeatedOnlyAsNames(t *testing.T) {
	for path, repeated := range map[string]bool{
		"person.shoe_size": true, "person": false, "jane@acme.example": false, "+49 30 1234": false, "": false,
		"person." + strings.Repeat("x", 50): false,
	} {
		_, err := readFields([]string{path})
		if path == "person" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		if err == nil || path != "" && strings.Contains(err.Error(), path) != repeated {
			t.Errorf("%q: %v", path, err)
		}
	}
}

// TestShortIDsNeedNoRules holds what streams leave unchecked against the contract.
func TestShortIDsNeedNoRules(t *testing.T) {
	rules, err := contractRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, request := range []*enrichv1.EnrichRequest{nil, {}, {Purpose: strings.Repeat("x", 10_000)}} {
		question := &enrichv1.StreamEnrichRequest{CorrelationId: strings.Repeat("\x00", shortID), Request: request}
		if err := rules.Validate(question); err != nil {
			t.Errorf("a rule is about %v: %v", question, err)
		}
	}
	if rules.Validate(&enrichv1.StreamEnrichRequest{CorrelationId: strings.Repeat("x", 10_000)}) == nil {
		t.Error("no rule is about long ids any more")
	}
}

// TestPlainMessagesBreakNoRule: such a message is not checked.
func TestPlainMessagesBreakNoRule(t *testing.T) {
	rules, err := contractRules()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"x", "jane.doe@acme.example", strings.Repeat("x", 300), "\x00"} {
		message := &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: address}}
		if err := rules.Validate(message); !plain(message) || err != nil {
			t.Errorf("%q: plain is %t, and the rules say %v", address, plain(message), err)
		}
	}
	for name, message := range map[string]*enrichv1.EnrichRequest{
		"nothing":      {},
		"no address":   {Subject: &enrichv1.EnrichRequest_Email{}},
		"a domain":     {Subject: &enrichv1.EnrichRequest_Domain{Domain: "acme.example"}},
		"a lane":       {Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Lane: 99},
		"an empty age": {Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, MaxAge: &durationpb.Duration{}},
		"a cost of 0":  {Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, MaxCostMicros: proto.Int64(0)},
	} {
		if plain(message) {
			t.Errorf("%s is plain", name)
		}
	}
}

func TestBadMessagesAreNamed(t *testing.T) {
	edge := start(t, unasked(t))
	for _, test := range []struct {
		name    string
		message *enrichv1.EnrichRequest
		field   string
	}{
		{"no subject", &enrichv1.EnrichRequest{}, "subject"},
		{"an unknown path", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Fields: &fieldmaskpb.FieldMask{Paths: []string{"company", "person.shoe_size"}}}, "fields.paths[1]"},
		{"an unknown lane", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Lane: 99}, "lane"},
		{"a negative budget", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Budget: durationpb.New(-1)}, "budget"},
		{"a negative cost", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, MaxCostMicros: proto.Int64(-1)}, "max_cost_micros"},
		{"a long key", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, IdempotencyKey: strings.Repeat("k", 256)}, "idempotency_key"},
		{"a key that ends a header", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, IdempotencyKey: "k\r\nX-Other: 1"}, "idempotency_key"},
		{"a key with a line end", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, IdempotencyKey: "k\n"}, "idempotency_key"},
		{"a basis that is no word", &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: "x"}, Consent: &enrichv1.Consent{Basis: "Jane said so"}}, "consent.basis"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := edge.grpc.Enrich(t.Context(), test.message)
			violations := detail[*errdetails.BadRequest](err).GetFieldViolations()
			if status.Code(err) != codes.InvalidArgument || len(violations) != 1 || violations[0].GetField() != test.field {
				t.Errorf("error = %v with %v, want field %s", err, violations, test.field)
			}
		})
	}
}
