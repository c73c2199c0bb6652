package server

import (
	"context"
	"errors"
	"strconv"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/enrichd/enrichd/enrich"
)

// errorDomain is the domain of every ErrorInfo, as its documentation asks for:
// the name of the service.
const errorDomain = "enrichd"

// grpcCodes is the one table from what the caller can do to gRPC's codes; the
// gateway derives the HTTP status from them.
var grpcCodes = map[enrich.ErrorKind]codes.Code{
	enrich.Invalid:         codes.InvalidArgument,
	enrich.Unauthenticated: codes.Unauthenticated,
	enrich.Denied:          codes.PermissionDenied,
	enrich.Throttled:       codes.ResourceExhausted,
	enrich.Unavailable:     codes.Unavailable,
	enrich.Rejected:        codes.FailedPrecondition,
	enrich.OutOfTime:       codes.DeadlineExceeded,
	enrich.OutOfMoney:      codes.ResourceExhausted,
	enrich.Internal:        codes.Internal,
}

// errCallerLeft and errDeadline are the answers to calls whose context ended
// before anything else was wrong.
var (
	errCallerLeft = &enrich.Error{Kind: enrich.Unavailable, Reason: "cancelled", Offset: -1, Message: "the caller has left"}
	errDeadline   = &enrich.Error{Kind: enrich.OutOfTime, Reason: "deadline", Offset: -1, Message: "the call's deadline has passed"}
)

// statusOf turns an error into the status that the caller gets. What the caller
// cannot use is logged under the request's id.
func (s *Server) statusOf(ctx context.Context, err error) error {
	typed := enrich.AsError(err)
	switch {
	case ctx.Err() == nil:
	case errors.Is(ctx.Err(), context.Canceled) && errors.Is(err, context.Canceled):
		return describe(ctx, codes.Canceled, errCallerLeft).Err()
	case typed.Kind == enrich.Internal && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)):
		typed = errDeadline
	}
	code, known := grpcCodes[typed.Kind]
	if !known {
		code = codes.Internal
	}
	// Vendors that fail have lines of their own; a cause is of a part of ours.
	if code == codes.Internal || typed.Kind == enrich.Unavailable && typed.Cause != nil {
		s.log.ErrorContext(ctx, "request failed", "kind", typed.Kind, "class", typed.Reason, "request_id", enrich.RequestID(ctx), "error", typed.Cause)
	}
	return describe(ctx, code, typed).Err()
}

// describe is an error with the standard details, under a code.
func describe(ctx context.Context, code codes.Code, e *enrich.Error) *status.Status {
	answer, err := status.New(code, e.Message).WithDetails(details(e, enrich.RequestID(ctx))...)
	if err != nil { // details are our own messages and always marshal
		return status.New(codes.Internal, "the error could not be described")
	}
	return answer
}

// details are the standard details of an error.
func details(e *enrich.Error, requestID string) []protoadapt.MessageV1 {
	info := &errdetails.ErrorInfo{
		Reason:   string(e.Kind),
		Domain:   errorDomain,
		Metadata: map[string]string{"request_id": requestID},
	}
	all := []protoadapt.MessageV1{info}
	if e.Reason != "" {
		info.Metadata["class"] = e.Reason
	}
	if e.Kind == enrich.Invalid && e.Offset >= 0 {
		info.Metadata["offset"] = strconv.Itoa(e.Offset)
	}
	if e.Field != "" {
		all = append(all, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
			{Field: e.Field, Reason: e.Reason, Description: e.Message},
		}})
	}
	if !e.ReadyAt.IsZero() {
		all = append(all, &errdetails.RetryInfo{RetryDelay: durationpb.New(max(0, time.Until(e.ReadyAt)))})
	}
	if e.Kind == enrich.Throttled {
		subject := "providers"
		if e.Reason == reasonAccountRate {
			subject = "account"
		}
		all = append(all, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{{Subject: subject, Description: e.Message}}})
	}
	return all
}
