package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// echo answers with the address that was asked for, as the key; "bad" fails.
func echo(_ context.Context, request enrich.Request) (enrich.Answer, error) {
	if request.Email == "bad" {
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Invalid, Field: "email", Reason: "syntax", Offset: 0, Message: "email: is no address"}
	}
	return enrich.Answer{IdempotencyKey: request.Email}, nil
}

func batchOf(emails ...string) *enrichv1.BatchEnrichRequest {
	message := &enrichv1.BatchEnrichRequest{}
	for _, email := range emails {
		message.Requests = append(message.Requests, emailOf(email))
	}
	return message
}

func TestOneBadRequestHarmsNoOther(t *testing.T) {
	told := &tally{}
	edge := start(t, echo, func(_ *Config, parts *Parts) { parts.Observer = told })
	message := batchOf("a", "bad", "c", "d", "e")
	message.Requests[2].Budget = durationpb.New(-time.Second) // breaks a rule
	message.Requests[3].IdempotencyKey = "k"
	message.Requests[4] = &enrichv1.EnrichRequest{}
	answer, err := edge.grpc.BatchEnrich(t.Context(), message)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"a", "email", "budget", "d", "subject"}
	for i, result := range answer.GetResults() {
		failure := status.FromProto(result.GetError()).Err()
		field := ""
		if violations := detail[*errdetails.BadRequest](failure).GetFieldViolations(); len(violations) > 0 {
			field = violations[0].GetField()
		}
		if got := result.GetResponse().GetIdempotencyKey() + field; got != want[i] {
			t.Errorf("result %d is %v, want %s", i, result, want[i])
		}
		if failure != nil && detail[*errdetails.ErrorInfo](failure).GetMetadata()["request_id"] == "" {
			t.Errorf("error %d has no request id", i)
		}
	}
	heard := told.heard()
	slices.Sort(heard)
	if want := []string{"BatchEnrich OK open none", "BatchEnrich.item InvalidArgument open none", "BatchEnrich.item InvalidArgument open none",
		"BatchEnrich.item InvalidArgument open none", "BatchEnrich.item OK open none", "BatchEnrich.item OK open none"}; !slices.Equal(heard, want) {
		t.Errorf("the observer heard %q", heard)
	}

	body, err := protojson.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	code, _, text := edge.ask(t, http.MethodPost, "/v1/enrich:batch", string(body))
	overREST := &enrichv1.BatchEnrichResponse{}
	if err := protojson.Unmarshal(text, overREST); code != http.StatusOK || err != nil || len(overREST.GetResults()) != 5 || overREST.GetResults()[3].GetResponse().GetIdempotencyKey() != "d" {
		t.Errorf("REST answered %d, %v: %s", code, err, text)
	}
}

func TestBatchSize(t *testing.T) {
	edge := start(t, echo, func(config *Config, _ *Parts) { config.MaxMessageBytes = 1 << 20 })
	names := make([]string, 1001)
	for i := range names {
		names[i] = fmt.Sprint(i)
	}
	answer, err := edge.grpc.BatchEnrich(t.Context(), batchOf(names[:1000]...))
	if err != nil || len(answer.GetResults()) != 1000 {
		t.Fatalf("1,000 requests: %v", err)
	}
	for i, result := range answer.GetResults() {
		if result.GetResponse().GetIdempotencyKey() != names[i] {
			t.Fatalf("result %d is of %q", i, result.GetResponse().GetIdempotencyKey())
		}
	}
	for _, message := range []*enrichv1.BatchEnrichRequest{batchOf(names...), batchOf()} {
		_, err := edge.grpc.BatchEnrich(t.Context(), message)
		if status.Code(err) != codes.InvalidArgument || detail[*errdetails.BadRequest](err).GetFieldViolations()[0].GetField() != "requests" {
			t.Errorf("%d requests: %v", len(message.GetRequests()), err)
		}
	}
}

func TestBatchNamesWhatItsRequestsDoNot(t *testing.T) {
	var asked []enrich.Request
	edge := start(t, func(_ context.Context, request enrich.Request) (enrich.Answer, error) {
		asked = append(asked, request)
		return enrich.Answer{}, nil
	})
	message := batchOf("own", "none")
	message.Lane, message.Budget, message.Purpose = enrichv1.Lane_LANE_BULK, durationpb.New(time.Second), "sales"
	message.Requests[0].Lane, message.Requests[0].Budget, message.Requests[0].Purpose = enrichv1.Lane_LANE_INTERACTIVE, durationpb.New(time.Minute), "support"
	if _, err := edge.grpc.BatchEnrich(t.Context(), message); err != nil {
		t.Fatal(err)
	}
	if _, err := edge.grpc.BatchEnrich(t.Context(), batchOf("unset")); err != nil {
		t.Fatal(err)
	}
	for _, request := range asked {
		got := fmt.Sprintf("%s %s %s", request.Lane, request.Budget, request.Purpose)
		want := map[string]string{"own": "interactive 1m0s support", "none": "bulk 1s sales", "unset": "standard 0s "}[request.Email]
		if got != want || !strings.Contains(request.ID, "/") {
			t.Errorf("%s asks %q with id %q, want %q", request.Email, got, request.ID, want)
		}
	}
}

// TestABatchCostsItsRequests counts a batch against the account's rate.
func TestABatchCostsItsRequests(t *testing.T) {
	caller := ring()["sales-key"]
	caller.Rate = Rate{Requests: 10, Window: time.Hour}
	edge := start(t, echo, withAccounts(keyring{"sales-key": caller}))
	body, _ := protojson.Marshal(batchOf("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"))
	if code, _, text := edge.ask(t, http.MethodPost, "/v1/enrich:batch", string(body), "X-Api-Key: sales-key"); code != http.StatusOK {
		t.Fatalf("answered %d: %s", code, text)
	}
	if _, err := rateTrailers(t.Context(), edge, emailOf("x")); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a request after a batch of more than the rate: %v", err)
	}
}
