package server

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// newREST makes the HTTP server of the contract as JSON, and of the pages
// beside it. Clear-text HTTP/2 is left to the gRPC listener.
func (s *Server) newREST(service enrichv1.EnrichServiceServer) (*http.Server, error) {
	gateway := runtime.NewServeMux(
		// An unknown field in a body is an error, never ignored: a typo in
		// max_cost_micros must not cost money.
		runtime.WithMarshalerOption(runtime.MIMEWildcard, &wholeBody{runtime.JSONPb{
			UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: false},
		}}),
		runtime.WithErrorHandler(s.writeGatewayError),
		// Headers are nothing that the service reads.
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		// A method is what the request line says, for forms too.
		runtime.WithDisablePathLengthFallback(),
	)
	if err := enrichv1.RegisterEnrichServiceHandlerServer(context.Background(), gateway, service); err != nil {
		return nil, err
	}
	return &http.Server{
		Handler:           s.edge(s.contract(gateway)),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}, nil
}

// edge stands around every REST request: it gives it an id, refuses pages of
// other sites, and answers for a panic.
func (s *Server) edge(contract http.Handler) http.Handler {
	pages := map[string]http.HandlerFunc{
		"/openapi.json": writeOpenAPI,
		"/healthz":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) },
		"/readyz":       s.writeReady,
	}
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		ctx := withRequestID(r.Context())
		r = r.WithContext(ctx)
		w := &patientWriter{ResponseWriter: plain, patience: s.config.BodyTimeout}
		w.Header().Set("X-Request-Id", requestIDOf(ctx))
		if r.ContentLength != 0 {
			forgoBody(w)
		}
		defer func() {
			if recover() != nil {
				s.writeProblem(ctx, w, s.panicked(ctx))
			}
		}()
		page := pages[r.URL.Path]
		switch err := s.config.checkForeign(r.Header.Get("Origin"), r.Host); {
		case err != nil:
			s.writeProblem(ctx, w, err)
		case page != nil && r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			s.writeProblem(ctx, w, notAllowed([]string{http.MethodGet, http.MethodHead}))
		case page != nil:
			page(w, r)
		default:
			contract.ServeHTTP(w, r)
		}
	})
}

// contract stands around the gateway: nothing is read of a request that has no
// route, is no JSON or is one too many, and nothing is decoded of one that is
// not there whole.
func (s *Server) contract(gateway http.Handler) http.Handler {
	routes := contractRoutes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := s.admit(routes, w, r)
		if err != nil {
			s.writeProblem(r.Context(), w, err)
			return
		}
		defer s.load.rest.Add(-1)
		r.Body = body
		gateway.ServeHTTP(w, r)
	})
}

// admit returns the body of a request that was let in; without an error it is
// counted as under way.
func (s *Server) admit(routes []route, w http.ResponseWriter, r *http.Request) (*restBody, error) {
	if err := checkRoute(routes, w, r); err != nil {
		return nil, err
	}
	if err := checkBodyForm(w, r); err != nil {
		return nil, err
	}
	if err := s.load.enter(&s.load.rest); err != nil {
		return nil, err
	}
	body, err := s.readBody(w, r)
	if err != nil {
		s.load.rest.Add(-1)
	}
	return body, err
}

func writeOpenAPI(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(enrichv1.OpenAPI)
}

// writeReady tells whether new requests are welcome, as gRPC's health service
// does.
func (s *Server) writeReady(w http.ResponseWriter, r *http.Request) {
	health, err := s.health.Check(r.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("stopping: requests under way are finished, new ones are not taken\n"))
		return
	}
	_, _ = w.Write([]byte("ok\n"))
}

// patientWriter gives up on a caller who does not accept the answer. Time
// counts from the answer's first byte.
type patientWriter struct {
	http.ResponseWriter
	patience time.Duration
	begun    bool
}

func (p *patientWriter) begin() {
	if !p.begun {
		p.begun = true
		_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.patience))
	}
}

// WriteHeader sends the status.
func (p *patientWriter) WriteHeader(status int) {
	p.begin()
	p.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the answer.
func (p *patientWriter) Write(data []byte) (int, error) {
	p.begin()
	return p.ResponseWriter.Write(data)
}

// Unwrap returns the writer below, for http.ResponseController.
func (p *patientWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }
