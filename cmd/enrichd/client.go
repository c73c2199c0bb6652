package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// question is what a command asks for every lead.
type question struct {
	Fields  []string      `help:"What is wanted, as paths: person.title, company, …; all by default." placeholder:"PATH"`
	Lane    string        `enum:"interactive,standard,bulk" default:"bulk" help:"How urgent it is (${enum})."`
	Purpose string        `help:"What the data is wanted for, where the account has purposes." placeholder:"NAME"`
	Budget  time.Duration `default:"0" help:"All the time one answer may take; the service's own by default. With it a file is not handed in."`
}

// client asks a running service.
type client struct {
	connection *grpc.ClientConn
	service    enrichv1.EnrichServiceClient
	leads      enrichv1.LeadServiceClient
}

func (c *client) close() { _ = c.connection.Close() }

// enrich asks about one address. While asking again can help it waits and does,
// patience at most: a throttled lead is late, not lost.
func (c *client) enrich(ctx context.Context, address string, question question, patience time.Duration) (*enrichv1.EnrichResponse, error) {
	if !utf8.ValidString(address) {
		return nil, errBadEncoding
	}
	request := &enrichv1.EnrichRequest{
		Subject: &enrichv1.EnrichRequest_Email{Email: address},
		Lane:    enrichv1.Lane(enrichv1.Lane_value["LANE_"+strings.ToUpper(question.Lane)]),
	}
	request.Purpose = question.Purpose
	if len(question.Fields) > 0 {
		request.Fields = &fieldmaskpb.FieldMask{Paths: question.Fields}
	}
	if question.Budget > 0 {
		request.Budget = durationpb.New(question.Budget)
	}
	return patiently(ctx, patience, func() (*enrichv1.EnrichResponse, error) { return c.service.Enrich(ctx, request) })
}

// patiently asks again while that can help and the service or its vendors have
// not been waited for longer than patience.
func patiently[A any](ctx context.Context, patience time.Duration, ask func() (A, error)) (A, error) {
	giveUp := time.Now().Add(patience)
	for unavailable := 0; ; {
		answer, err := ask()
		wait, told := retryDelay(err)
		if !told && status.Code(err) == codes.Unavailable && unavailable < len(unavailableDelays) {
			wait, told = unavailableDelays[unavailable], true
			unavailable++
		}
		if err == nil || !told || time.Now().Add(wait).After(giveUp) {
			return answer, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer, ctx.Err()
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

// errBadEncoding stands for an address that no message can carry.
var errBadEncoding = unreadableError(email.ClassBadEncoding, "the address is not UTF-8")

// unreadableError is what the service says of an address of this class.
func unreadableError(class email.Class, message string) error {
	described, err := status.New(codes.InvalidArgument, message).WithDetails(
		&errdetails.ErrorInfo{Reason: string(enrich.Invalid), Metadata: map[string]string{"class": string(class)}},
		&errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "email"}}},
	)
	if err != nil { // details are the standard ones and always marshal
		return status.Error(codes.InvalidArgument, message)
	}
	return described.Err()
}

// unreadable tells whether the service cannot make out an address in what it
// was asked about: asking again cannot help.
func unreadable(err error) bool {
	for _, detail := range status.Convert(err).Details() {
		if bad, ok := detail.(*errdetails.BadRequest); ok {
			return len(bad.GetFieldViolations()) > 0 && bad.GetFieldViolations()[0].GetField() == "email"
		}
	}
	return false
}

// unreadableWord begins what explain says of an address that is unreadable.
const unreadableWord = "invalid_address"

// explain is an error of the service, or a damaged row, in one line for a
// person.
func explain(err error) string {
	var damaged damagedRow
	if errors.As(err, &damaged) {
		return damaged.Error()
	}
	failure, info := status.Convert(err), infoOf(err)
	class := info.GetMetadata()["class"]
	switch {
	case info == nil && failure.Code() == codes.Unavailable:
		return "no enrichd was reached (see --server and --tls): " + failure.Message()
	case info == nil:
		return failure.Code().String() + ": " + failure.Message()
	case class != "" && unreadable(err):
		return fmt.Sprintf("%s (%s)", unreadableWord, class)
	case class != "":
		return fmt.Sprintf("%s (%s): %s", info.GetReason(), class, failure.Message())
	default:
		return info.GetReason() + ": " + failure.Message()
	}
}

// infoOf is what the service says of an error beside its code; nil: the error is
// not of an enrichd, which always says it.
func infoOf(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info
		}
	}
	return nil
}
