package server

import (
	"context"
	"errors"
	"log/slog"
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

// statusOf turns an error into the status that the caller gets. What the caller
// cannot use is logged under the request's id.
func statusOf(ctx context.Context, log *slog.Logger, err error, requestID string) error {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return status.FromContextError(ctx.Err()).Err()
	}
	typed := enrich.AsError(err)
	if typed.Kind == enrich.Internal {
		log.ErrorContext(ctx, "request failed", "kind", typed.Kind, "request_id", requestID, "error", typed.Cause)
	}
	answer, err := status.New(grpcCodes[typed.Kind], typed.Message).WithDetails(details(typed, requestID)...)
	if err != nil { // details are our own messages and always marshal
		return status.Error(codes.Internal, "the error could not be described")
	}
	return answer.Err()
}

// details are the standard details of an error.
func details(e *enrich.Error, requestID string) []protoadapt.MessageV1 {
	info := &errdetails.ErrorInfo{
		Reason:   string(e.Kind),
		Domain:   errorDomain,
		Metadata: map[string]string{"request_id": requestID},
	}
	all := []protoadapt.MessageV1{info}
	if e.Kind == enrich.Invalid {
		if e.Reason != "" {
			info.Metadata["class"] = e.Reason
		}
		if e.Offset >= 0 {
			info.Metadata["offset"] = strconv.Itoa(e.Offset)
		}
		if e.Field != "" {
			all = append(all, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{
				{Field: e.Field, Reason: e.Reason, Description: e.Message},
			}})
		}
	}
	if !e.ReadyAt.IsZero() {
		all = append(all, &errdetails.RetryInfo{RetryDelay: durationpb.New(max(0, time.Until(e.ReadyAt)))})
	}
	if e.Kind == enrich.Throttled {
		all = append(all, &errdetails.QuotaFailure{Violations: []*errdetails.QuotaFailure_Violation{
			{Subject: "providers", Description: e.Message},
		}})
	}
	return all
}
