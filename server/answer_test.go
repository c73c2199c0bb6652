package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// janeAtAcme is an answer with a value of every form and a gap.
func janeAtAcme(t *testing.T) enrich.Answer {
	t.Helper()
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	address, err := normalizer.Normalize("jane.doe@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	var found enrich.Findings
	for attribute, value := range map[enrich.Attribute]enrich.Value{
		"person.title":           enrich.TextValue("Head of Tests"),
		"person.seniority":       enrich.WordValue("head"),
		"company.employee_count": enrich.NumberValue(120),
		"company.founded_year":   enrich.NumberValue(1999),
		"company.technologies":   enrich.ListValue([]string{"redis", "go"}),
	} {
		found = found.With(enrich.Provenance{
			Fact: &enrich.Fact{Attribute: attribute, State: enrich.StateValue, Value: value, Source: "peopledatalabs", FetchedAt: time.UnixMilli(1_790_000_000_000), Confidence: 0.8},
			Tier: enrich.MemoryTier,
		})
	}
	return enrich.Answer{
		Address: address, Domain: address.Registrable(), Completeness: enrich.PartlyFound, Found: found,
		Gaps:     map[enrich.Attribute]enrich.Gap{"person.phone": {Kind: enrich.GapFailed, Reason: enrich.ReasonPaused}},
		Attempts: []enrich.Attempt{{Provider: "peopledatalabs", Outcome: enrich.Hit, Took: time.Second, Charged: enrich.KnownCharge(280000)}},
		Cost:     280000, IdempotencyKey: "key",
	}
}

func TestBothPathsGiveTheSameAnswer(t *testing.T) {
	answer := janeAtAcme(t)
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) { return answer, nil })

	overGRPC, err := edge.grpc.Enrich(t.Context(), emailOf("jane.doe@acme.example"))
	if err != nil {
		t.Fatal(err)
	}
	code, _, body := edge.post(t, `{"email":"jane.doe@acme.example"}`)
	overREST := &enrichv1.EnrichResponse{}
	if err := protojson.Unmarshal(body, overREST); code != http.StatusOK || err != nil {
		t.Fatalf("REST answered %d, %v: %s", code, err, body)
	}
	if !proto.Equal(overGRPC, overREST) {
		t.Errorf("gRPC: %v\nREST: %v", overGRPC, overREST)
	}
	if overGRPC.GetPerson().GetSeniority() != enrichv1.Seniority_SENIORITY_HEAD || overGRPC.GetCompany().GetEmployeeCount() != 120 ||
		overGRPC.GetCompany().GetFoundedYear() != 1999 || strings.Join(overGRPC.GetCompany().GetTechnologies(), " ") != "go redis" {
		t.Errorf("values = %v", overGRPC)
	}
	if overGRPC.GetGaps()["person.phone"].GetReason() != "paused" || overGRPC.GetProvenance()["person.title"].GetTier() != enrichv1.CacheTier_CACHE_TIER_MEMORY {
		t.Errorf("gaps and provenance = %v", overGRPC)
	}
}
