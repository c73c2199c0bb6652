package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// restHandler serves the contract as JSON, and the pages beside it.
func (s *Server) restHandler(service enrichv1.EnrichServiceServer) (http.Handler, error) {
	gateway := runtime.NewServeMux(
		// An unknown field in a body is an error, never ignored: a typo in
		// max_cost_micros must not cost money.
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &runtime.JSONPb{
			MarshalOptions:   protojson.MarshalOptions{},
			UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: false},
		}),
		runtime.WithErrorHandler(writeRESTError),
	)
	if err := enrichv1.RegisterEnrichServiceHandlerServer(context.Background(), gateway, service); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.limitBody(gateway))
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(enrichv1.OpenAPI)
	})
	mux.HandleFunc("GET /healthz", writeOK)
	mux.HandleFunc("GET /readyz", writeOK)
	return mux, nil
}

func writeOK(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n"))
}

// limitBody refuses bodies that are too long, before reading them where their
// length is declared. They are never read into memory whole.
func (s *Server) limitBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		longest := int64(s.config.MaxMessageBytes)
		if r.ContentLength > longest {
			http.Error(w, `{"code":3,"message":"the body is longer than `+strconv.FormatInt(longest, 10)+` bytes"}`, http.StatusRequestEntityTooLarge)
			return
		}
		r.Body = http.MaxBytesReader(w, r.Body, longest)
		next.ServeHTTP(w, r)
	})
}

// writeRESTError writes a status as google.rpc.Status in JSON, with a
// Retry-After header of whole seconds where the status says when to come back.
// A body that is not the contract's JSON is described without repeating it.
func writeRESTError(ctx context.Context, mux *runtime.ServeMux, marshaler runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	answer := status.Convert(err)
	if _, ours := err.(interface{ GRPCStatus() *status.Status }); ours && len(answer.Details()) == 0 && answer.Code() == codes.InvalidArgument {
		err = bodyError(err).Err()
	}
	for _, detail := range answer.Details() {
		if retry, ok := detail.(*errdetails.RetryInfo); ok {
			seconds := (retry.GetRetryDelay().AsDuration() + time.Second - 1) / time.Second
			w.Header().Set("Retry-After", strconv.Itoa(int(seconds)))
		}
	}
	runtime.DefaultHTTPErrorHandler(ctx, mux, marshaler, w, r, err)
}

// bodyError describes a body that cannot be read.
func bodyError(err error) *status.Status {
	var tooLong *http.MaxBytesError
	message := "the body is not JSON of an EnrichRequest"
	if errors.As(err, &tooLong) {
		message = "the body is too long"
	}
	described, _ := status.New(codes.InvalidArgument, message).WithDetails(&errdetails.ErrorInfo{Reason: "invalid", Domain: errorDomain, Metadata: map[string]string{"class": "body"}})
	return described
}
