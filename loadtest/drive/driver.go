// Package drive asks a service the way its users do: over gRPC or REST, one lead
// at a time or many together, as fast as answers come or at a fixed rate.
package drive

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Question is one lead that is asked for.
type Question struct {
	Email  string
	Fields []string // empty: all
	Lane   string   // interactive, standard or bulk; empty: interactive
	Budget time.Duration
	// Purpose is one of the account's; empty: none is named.
	Purpose string
}

// Answer is what came back.
type Answer struct {
	// Code is the gRPC code's name, or "OK".
	Code string
	// Tier is memory, redis or vendor: the slowest that had to be asked. Empty
	// when nothing was found.
	Tier string
	// Outcome is complete, partial or not_found.
	Outcome string
	// Waited is the time spent for vendors' tokens.
	Waited time.Duration
	// Calls are the vendor calls made for this answer alone.
	Calls int
	// Response as it came; nil for a failure.
	Response *enrichv1.EnrichResponse
}

// OK tells whether the service answered; that vendors know nothing is an answer.
func (a Answer) OK() bool { return a.Code == "OK" }

// Driver asks one service in one way. It is safe for concurrent use.
type Driver interface {
	// Ask asks for all leads in one exchange and calls answered once for each,
	// as soon as it is known and not for two at a time. i is its place among the
	// questions.
	Ask(ctx context.Context, questions []Question, answered func(i int, answer Answer))
	Close() error
}

// Ways are the names of all drivers.
var Ways = []string{"grpc", "rest", "batch", "stream"}

// Service is who is asked.
type Service struct {
	// GRPC and REST are where it listens, as host:port.
	GRPC, REST string
	// Key is an API key; empty: none is sent.
	Key string
	// TLS encrypts, and says by ServerName whom certificates must name, which may
	// be another than the address that is asked; nil: nothing encrypts.
	TLS *tls.Config
}

// New returns the driver of a way: grpc, rest, batch or stream.
func New(way string, service Service) (Driver, error) {
	switch way {
	case "grpc", "":
		return newGRPC(service)
	case "rest":
		return newREST(service)
	case "batch":
		one, err := newGRPC(service)
		return batchDriver{one}, err
	case "stream":
		one, err := newGRPC(service)
		return streamDriver{one}, err
	}
	return nil, fmt.Errorf("no way to ask is called %q", way)
}

var lanes = map[string]enrichv1.Lane{
	"":            enrichv1.Lane_LANE_UNSPECIFIED,
	"interactive": enrichv1.Lane_LANE_INTERACTIVE,
	"standard":    enrichv1.Lane_LANE_STANDARD,
	"bulk":        enrichv1.Lane_LANE_BULK,
}

// message is the question in the contract's words.
func (q Question) message() *enrichv1.EnrichRequest {
	message := &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: q.Email}, Lane: lanes[q.Lane], Purpose: q.Purpose}
	if len(q.Fields) > 0 {
		message.Fields = &fieldmaskpb.FieldMask{Paths: q.Fields}
	}
	if q.Budget > 0 {
		message.Budget = durationpb.New(q.Budget)
	}
	return message
}

// read takes from a response what is counted.
func read(response *enrichv1.EnrichResponse) Answer {
	answer := Answer{Code: "OK", Outcome: outcomes[response.GetOutcome()], Response: response}
	slowest := -1
	for _, provenance := range response.GetProvenance() {
		slowest = max(slowest, slowness[provenance.GetTier()])
	}
	if slowest >= 0 {
		answer.Tier = tiers[slowest]
	}
	for _, attempt := range response.GetAttempts() {
		answer.Waited = max(answer.Waited, attempt.GetWaited().AsDuration())
		if !attempt.GetShared() {
			answer.Calls++
		}
	}
	return answer
}

var (
	outcomes = map[enrichv1.Outcome]string{
		enrichv1.Outcome_OUTCOME_COMPLETE: "complete", enrichv1.Outcome_OUTCOME_PARTIAL: "partial", enrichv1.Outcome_OUTCOME_NOT_FOUND: "not_found",
	}
	tiers    = []string{"memory", "redis", "vendor"}
	slowness = map[enrichv1.CacheTier]int{
		enrichv1.CacheTier_CACHE_TIER_MEMORY: 0, enrichv1.CacheTier_CACHE_TIER_REDIS: 1, enrichv1.CacheTier_CACHE_TIER_UNSPECIFIED: 2,
	}
)
