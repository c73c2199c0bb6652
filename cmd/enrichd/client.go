package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// question is what a command asks for every lead.
type question struct {
	Fields []string      `help:"What is wanted, as paths: person.title, company, …; all by default." placeholder:"PATH"`
	Lane   string        `enum:"interactive,standard,bulk" default:"bulk" help:"How urgent it is (${enum})."`
	Budget time.Duration `default:"0" help:"All the time one answer may take; the service's own by default."`
}

// client asks a running service.
type client struct {
	connection *grpc.ClientConn
	service    enrichv1.EnrichServiceClient
}

func dial(address string) (*client, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &client{connection: connection, service: enrichv1.NewEnrichServiceClient(connection)}, nil
}

func (c *client) close() { _ = c.connection.Close() }

// enrich asks about one address. While asking again can help it waits and does,
// patience at most: a throttled lead is late, not lost.
func (c *client) enrich(ctx context.Context, email string, question question, patience time.Duration) (*enrichv1.EnrichResponse, error) {
	request := &enrichv1.EnrichRequest{
		Subject: &enrichv1.EnrichRequest_Email{Email: email},
		Lane:    enrichv1.Lane(enrichv1.Lane_value["LANE_"+strings.ToUpper(question.Lane)]),
	}
	if len(question.Fields) > 0 {
		request.Fields = &fieldmaskpb.FieldMask{Paths: question.Fields}
	}
	if question.Budget > 0 {
		request.Budget = durationpb.New(question.Budget)
	}
	giveUp := time.Now().Add(patience)
	for unavailable := 0; ; {
		response, err := c.service.Enrich(ctx, request)
		wait, told := retryDelay(err)
		if !told && status.Code(err) == codes.Unavailable && unavailable < len(unavailableDelays) {
			wait, told = unavailableDelays[unavailable], true
			unavailable++
		}
		if err == nil || !told || time.Now().Add(wait).After(giveUp) {
			return response, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// unavailableDelays are the waits for a service or vendors that are away and do
// not say for how long.
var unavailableDelays = []time.Duration{time.Second, 5 * time.Second, 15 * time.Second}

// retryDelay is how long the service says to wait before asking again, if it
// does.
func retryDelay(err error) (time.Duration, bool) {
	for _, detail := range status.Convert(err).Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			return max(retry.GetRetryDelay().AsDuration(), 100*time.Millisecond), true
		}
	}
	return 0, false
}

// explain is an error of the service in one line for a person.
func explain(err error) string {
	failure := status.Convert(err)
	for _, detail := range failure.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			if class := info.GetMetadata()["class"]; class != "" {
				return fmt.Sprintf("%s (%s)", info.GetReason(), class)
			}
			return info.GetReason() + ": " + failure.Message()
		}
	}
	return failure.Code().String() + ": " + failure.Message()
}
