package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// restHandler serves the contract as JSON, and the pages beside it.
func (s *Server) restHandler(service enrichv1.EnrichServiceServer) (http.Handler, error) {
	gateway := runtime.NewServeMux(
		// An unknown field in a body is an error, never ignored: a typo in
		// max_cost_micros must not cost money.
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &wholeBody{runtime.JSONPb{
			UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: false},
		}}),
		runtime.WithErrorHandler(writeRESTError),
	)
	if err := enrichv1.RegisterEnrichServiceHandlerServer(context.Background(), gateway, service); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", s.readBody(gateway))
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

// readBody reads the whole body, up to the longest message, before anything is
// decoded: what is too long is refused as such.
func (s *Server) readBody(next http.Handler) http.Handler {
	longest := int64(s.config.MaxMessageBytes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, longest))
		var tooLong *http.MaxBytesError
		switch {
		case errors.As(err, &tooLong):
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = w.Write(bodyStatus(fmt.Sprintf("the body is longer than %d bytes", longest)))
			return
		case err != nil:
			return // the caller is gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// wholeBody decodes a body that holds one JSON value and nothing behind it.
type wholeBody struct{ runtime.JSONPb }

// NewDecoder decodes all that the reader has.
func (m *wholeBody) NewDecoder(reader io.Reader) runtime.Decoder {
	return runtime.DecoderFunc(func(message any) error {
		body, err := io.ReadAll(reader)
		if err != nil {
			return err
		}
		typed, ok := message.(proto.Message)
		if !ok {
			return m.Unmarshal(body, message)
		}
		return m.UnmarshalOptions.Unmarshal(body, typed)
	})
}

// writeRESTError writes a status as google.rpc.Status in JSON, with a
// Retry-After header of whole seconds where the status says when to come back.
// A status without details is the gateway's own, about a body that is not the
// contract's JSON; its text repeats the body and is replaced.
func writeRESTError(ctx context.Context, mux *runtime.ServeMux, marshaler runtime.Marshaler, w http.ResponseWriter, r *http.Request, err error) {
	answer := status.Convert(err)
	if answer.Code() == codes.InvalidArgument && len(answer.Details()) == 0 {
		err = status.FromProto(bodyError("the body is not JSON of the contract's request")).Err()
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
func bodyError(message string) *statuspb.Status {
	info, _ := anypb.New(&errdetails.ErrorInfo{Reason: string(enrich.Invalid), Domain: errorDomain, Metadata: map[string]string{"class": "body"}})
	return &statuspb.Status{Code: int32(codes.InvalidArgument), Message: message, Details: []*anypb.Any{info}}
}

// bodyStatus is bodyError as JSON.
func bodyStatus(message string) []byte {
	text, _ := protojson.Marshal(bodyError(message))
	return text
}
