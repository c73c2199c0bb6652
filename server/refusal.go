package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/enrich"
)

// refusal is an error of REST alone, with the HTTP status that says it best.
type refusal struct {
	status  int
	problem *enrich.Error
}

// Error returns the problem's text.
func (r *refusal) Error() string { return r.problem.Error() }

// refusalCodes are the codes of refusals whose kind has another.
var refusalCodes = map[int]codes.Code{
	http.StatusNotFound:         codes.NotFound,
	http.StatusMethodNotAllowed: codes.Unimplemented,
}

func notFound() error {
	return &refusal{http.StatusNotFound, &enrich.Error{Kind: enrich.Invalid, Reason: "unknown_path", Offset: -1, Message: "nothing is served under this path"}}
}

func notAllowed(allowed []string) error {
	return &refusal{http.StatusMethodNotAllowed, &enrich.Error{
		Kind: enrich.Invalid, Reason: "method", Offset: -1, Message: "this path is asked with " + strings.Join(allowed, " or "),
	}}
}

// queryRefused is for parameters in a URL that nobody reads: they would be
// ignored, and an address has no place there.
func queryRefused() error {
	return &enrich.Error{Kind: enrich.Invalid, Reason: "query", Offset: -1, Message: "the request is in the body alone: the URL takes no parameters"}
}

// writeProblem writes an error as google.rpc.Status in JSON, with a Retry-After
// header of whole seconds where it says when to come back.
func (s *Server) writeProblem(ctx context.Context, w http.ResponseWriter, err error) {
	var own *refusal
	if errors.As(err, &own) {
		code, other := refusalCodes[own.status]
		if !other {
			code = grpcCodes[own.problem.Kind]
		}
		writeStatus(ctx, w, own.status, describe(ctx, code, own.problem))
		return
	}
	answer := status.Convert(s.statusOf(ctx, err))
	writeStatus(ctx, w, httpStatusOf(answer), answer)
}

// httpStatusOf is the gateway's HTTP status for a code, except where a standard
// has a better one.
func httpStatusOf(answer *status.Status) int {
	for _, detail := range answer.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetMetadata()["class"] == enrich.ReasonKeyReused {
			return http.StatusUnprocessableEntity // draft-ietf-httpapi-idempotency-key-header
		}
	}
	return runtime.HTTPStatusFromCode(answer.Code())
}

// writeGatewayError writes the errors that the gateway reports. One with
// details is the service's; one without is the gateway's own, whose text
// repeats what the caller sent and is replaced.
func (s *Server) writeGatewayError(ctx context.Context, _ *runtime.ServeMux, _ runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	answer := status.Convert(err)
	body, _ := r.Body.(*restBody)
	switch {
	case len(answer.Details()) > 0:
		writeStatus(ctx, w, httpStatusOf(answer), answer)
	case body != nil && body.problem != nil:
		s.writeProblem(ctx, w, body.problem)
	case answer.Code() == codes.InvalidArgument && r.Header.Get("Grpc-Timeout") != "":
		s.writeProblem(ctx, w, &enrich.Error{
			Kind: enrich.Invalid, Reason: "timeout_header", Offset: -1,
			Message: "the Grpc-Timeout header is not up to 8 digits and a unit, such as 1500m (ms) or 10S (s)",
		})
	default:
		s.writeProblem(ctx, w, err)
	}
}

func writeStatus(ctx context.Context, w http.ResponseWriter, httpStatus int, answer *status.Status) {
	callOf(ctx).code = answer.Code()
	if answer.Code() == codes.Unauthenticated {
		w.Header().Set("WWW-Authenticate", "Bearer") // RFC 9110, section 11.6.1
	}
	for _, detail := range answer.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			w.Header().Set("Retry-After", strconv.FormatInt(seconds(retry.GetRetryDelay().AsDuration()), 10))
		}
	}
	text, err := protojson.Marshal(answer.Proto())
	if err != nil { // our own details are known types and always marshal
		text, httpStatus = nil, http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(httpStatus)
	_, _ = w.Write(text)
}
