package server

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
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

// TestPlainMessagesBreakNoRule holds what is not checked against the contract: every
// value of every field at the edge of its rule and beyond, in all sorts of company.
func TestPlainMessagesBreakNoRule(t *testing.T) {
	rules, err := contractRules()
	if err != nil {
		t.Fatal(err)
	}
	var duration []*durationpb.Duration
	for _, seconds := range []int64{0, 1, -1, 599, 600, 601, 86400 * 3650, 86400*3650 + 1, 315_576_000_000, math.MaxInt64, math.MinInt64} {
		for _, nanos := range []int32{0, 1, -1, 9_999_999, 10_000_000, 999_999_999, 1_000_000_000, math.MaxInt32, math.MinInt32} {
			duration = append(duration, &durationpb.Duration{Seconds: seconds, Nanos: nanos})
		}
	}
	texts := []string{"", "x", "jane.doe@acme.example", "a_1", "A", "\x00", " ", "~", "\x7f", "é", "a\n",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 255), strings.Repeat("x", 256), strings.Repeat("é", 128)}
	numbers := []int64{0, 1, 2, 3, 4, 99, -1, math.MaxInt64, math.MinInt64}
	// some makes a value of one field.
	some := func(field protoreflect.FieldDescriptor) (value protoreflect.Value) {
		switch {
		case field.Kind() == protoreflect.EnumKind:
			return protoreflect.ValueOfEnum(protoreflect.EnumNumber(numbers[rand.IntN(len(numbers))]))
		case field.Kind() == protoreflect.StringKind:
			return protoreflect.ValueOf(texts[rand.IntN(len(texts))])
		case field.Kind() == protoreflect.Int64Kind:
			return protoreflect.ValueOf(numbers[rand.IntN(len(numbers))])
		case field.Kind() == protoreflect.MessageKind:
			var sub proto.Message
			switch field.Message().FullName() {
			case "google.protobuf.Duration":
				sub = duration[rand.IntN(len(duration))]
			case "google.protobuf.FieldMask":
				sub = &fieldmaskpb.FieldMask{Paths: []string{texts[rand.IntN(len(texts))]}}
			case "enrich.v1.Consent":
				sub = &enrichv1.Consent{Basis: texts[rand.IntN(len(texts))], Source: texts[rand.IntN(len(texts))]}
			}
			if sub != nil {
				return protoreflect.ValueOfMessage(sub.ProtoReflect())
			}
		}
		t.Fatalf("%s: no values for it", field.FullName())
		return value
	}
	fields := (&enrichv1.EnrichRequest{}).ProtoReflect().Descriptor().Fields()
	passed := map[protoreflect.Name]int{}
	for range 20_000 {
		message := emailOf("x")
		for range 1 + rand.IntN(3) {
			field := fields.Get(rand.IntN(fields.Len()))
			message.ProtoReflect().Set(field, some(field))
		}
		if !plain(message) {
			continue
		}
		if err := rules.Validate(message); err != nil {
			t.Fatalf("%v is plain, and the rules say %v", message, err)
		}
		message.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
			passed[field.Name()]++
			return true
		})
	}
	for i := range fields.Len() {
		if name := fields.Get(i).Name(); (passed[name] == 0) != (name == "consent") {
			t.Errorf("%d plain messages had a field %s", passed[name], name)
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
