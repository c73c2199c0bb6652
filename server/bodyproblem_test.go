package server

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// TestBadBodiesAreNamedWithoutRepeatingThem marks in each body with ^ where it
// goes wrong; "jane" stands for what may never be repeated.
func TestBadBodiesAreNamedWithoutRepeatingThem(t *testing.T) {
	edge := start(t, unasked(t))
	for _, test := range []struct{ name, body, field, class, says string }{
		{"not JSON", `{"email": ^jane@acme.example`, "email", "malformed_json", "email"},
		{"half a string", `{"email":"jane@acme^`, "email", "malformed_json", ""},
		{"half an object", `{"email":"jane@acme.example"^`, "email", "malformed_json", ""},
		{"nothing", `^`, "body", "malformed_json", ""},
		{"not UTF-8", "{\"email\":\"jane^\xff\"}", "email", "malformed_json", ""},
		{"half an escape", `{"email":"jane^\ud800"}`, "email", "malformed_json", ""},
		{"two values", `{"email":"jane@acme.example"}^{"email":"jane@acme.example"}`, "body", "wrong_value", "one JSON object"},
		{"a list", `^[{"email":"jane@acme.example"}]`, "body", "wrong_value", "one JSON object"},
		{"null", `^null`, "body", "wrong_value", "one JSON object"},
		{"an unknown field", "{\n \"email\":\"jäne\",\n ^\"max_cost_micro\":1}", "max_cost_micro", "unknown_field", "max_cost_micro"},
		{"an unknown field like an address", `{^"jane@acme.example":1}`, "body", "unknown_field", "a field is not in the contract"},
		{"an unknown field inside", `{"consent":{^"why":"jane"}}`, "consent.why", "unknown_field", "why"},
		{"a field twice", `{"lane":1,^"lane":1}`, "lane", "repeated_field", "once"},
		{"a field twice, spelled twice", `{"max_age":"1s",^"maxAge":"1s"}`, "max_age", "repeated_field", "once"},
		{"both subjects", `{"email":"jane",^"domain":"jane"}`, "domain", "repeated_field", "one of email, domain"},
		{"an object for a string", `{"email":^{"jane":1}}`, "email", "wrong_value", "must be a string"},
		{"a number for a string", `{"email":^7}`, "email", "wrong_value", "must be a string"},
		{"an unknown enum", `{"lane":^"jane"}`, "lane", "wrong_value", "one of LANE_UNSPECIFIED, LANE_INTERACTIVE, LANE_STANDARD, LANE_BULK"},
		{"words for a number", `{"maxCostMicros":^"jane"}`, "max_cost_micros", "wrong_value", "whole number"},
		{"a duration in numbers", `{"budget":^1.5}`, "budget", "wrong_value", `"1.5s"`},
		{"a duration in words", `{"maxAge":^"jane"}`, "max_age", "wrong_value", `"1.5s"`},
		{"a time in words", `{"consent":{"collectedAt":^"jane"}}`, "consent.collected_at", "wrong_value", "RFC 3339"},
		{"a mask in a list", `{"fields":^["person.title"]}`, "fields", "wrong_value", `"person.title,company"`},
		{"behind a mask in snake case", `{"fields":"company,person.linkedin_url",^"x_y":1}`, "x_y", "unknown_field", "x_y"},
		{"a mask of something else", `{"fields":^"company,jane@acme.example"}`, "fields.paths[1]", "no_path", ""},
		{"deep nesting", `{"email":^` + strings.Repeat("[", 60000), "email", "wrong_value", "must be a string"},
		{"deep nesting in nothing", `{^"x":` + strings.Repeat(`{"x":`, 12000), "x", "unknown_field", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			at := strings.IndexByte(test.body, '^')
			code, _, answer := edge.post(t, test.body[:at]+test.body[at+1:])
			err := failed(t, answer)
			info := detail[*errdetails.ErrorInfo](err)
			violations := detail[*errdetails.BadRequest](err).GetFieldViolations()
			if code != http.StatusBadRequest || status.Code(err) != codes.InvalidArgument || len(violations) != 1 {
				t.Fatalf("answered %d: %s", code, answer)
			}
			if violations[0].GetField() != test.field || violations[0].GetReason() != test.class || info.GetMetadata()["class"] != test.class || !strings.Contains(status.Convert(err).Message(), test.says) {
				t.Errorf("answered %s", answer)
			}
			if got := info.GetMetadata()["offset"]; got != strconv.Itoa(at) {
				t.Errorf("offset %s, want %d", got, at)
			}
			if strings.Contains(string(answer), "jane") {
				t.Errorf("the answer repeats the body: %s", answer)
			}
		})
	}
}

// TestBadBatchesAreNamed does the same in a batch's list.
func TestBadBatchesAreNamed(t *testing.T) {
	edge := start(t, unasked(t))
	for _, test := range []struct{ name, body, field, class string }{
		{"a field of an element", `{"requests":[{"email":"jane"},{^"emial":"x"}]}`, "requests[1].emial", "unknown_field"},
		{"a value of an element", `{"requests":[{"email":"jane"},{"email":^7}]}`, "requests[1].email", "wrong_value"},
		{"an element", `{"requests":[^7]}`, "requests[0]", "wrong_value"},
		{"no element", `{"requests":[^null]}`, "requests[0]", "wrong_value"},
		{"no list", `{"requests":^{"email":"jane"}}`, "requests", "wrong_value"},
		{"a mask of an element", `{"requests":[{"email":"jane","fields":^"jane@acme.example"}]}`, "fields.paths[0]", "no_path"},
		{"a field of the batch", `{"requests":[],^"lanes":1}`, "lanes", "unknown_field"},
		{"half a list", `{"requests":[{"email":"jane"}^`, "requests[0]", "malformed_json"},
	} {
		at := strings.IndexByte(test.body, '^')
		code, _, answer := edge.ask(t, http.MethodPost, "/v1/enrich:batch", test.body[:at]+test.body[at+1:])
		info := detail[*errdetails.ErrorInfo](failed(t, answer)).GetMetadata()
		violations := detail[*errdetails.BadRequest](failed(t, answer)).GetFieldViolations()
		if code != http.StatusBadRequest || len(violations) != 1 || violations[0].GetField() != test.field || info["class"] != test.class || info["offset"] != strconv.Itoa(at) || strings.Contains(string(answer), "jane") {
			t.Errorf("%s: answered %d %s", test.name, code, answer)
		}
	}
}

// FuzzBodies checks that every body of every method that is refused is
// explained, in its own terms, and that masks in snake case move nothing.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{"email":"x"}`, `{"email":"x","fields":"person_x"}`, "{\n\"lane\":\"ü\"}", `{"consent":{"x":1}}`, "", `{"a":1}{`, "\xff", `"\ud800"`,
		`{"requests":[{"email":"x"},{"emial":1}]}`, `{"correlationId":"1","request":{"fields":"a_b"}}`, `{"scope":"x","off":1}`} {
		f.Add([]byte(seed))
	}
	requests := []proto.Message{&enrichv1.EnrichRequest{}, &enrichv1.BatchEnrichRequest{}, &enrichv1.StreamEnrichRequest{}, &enrichv1.SetSwitchRequest{}, &enrichv1.EraseSubjectRequest{}}
	f.Fuzz(func(t *testing.T, body []byte) {
		camel := camelMasks(body)
		if len(camel) != len(body) {
			t.Fatalf("%q became %q", body, camel)
		}
		for _, request := range requests {
			message := request.ProtoReflect().New().Interface()
			err := protojson.Unmarshal(camel, message)
			if err == nil {
				continue
			}
			problem := explainBody(body, err, message.ProtoReflect().Descriptor())
			if problem.Field == "" || problem.Reason == "" || problem.Message == "" || problem.Offset < 0 || problem.Offset > len(body) {
				t.Errorf("explained as %+v, refused as %v", problem, err)
			}
		}
	})
}
