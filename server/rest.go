package server

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"go.opentelemetry.io/otel/propagation"
	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// newREST makes the HTTP server of the contract as JSON, and of the pages
// beside it. Clear-text HTTP/2 is left to the gRPC listener.
func (s *Server) newREST() (*http.Server, error) {
	gateway := runtime.NewServeMux(
		runtime.WithMarshalerOption(runtime.MIMEWildcard, bodies),
		runtime.WithErrorHandler(s.writeGatewayError),
		// Headers are read by the edge alone.
		runtime.WithIncomingHeaderMatcher(func(string) (string, bool) { return "", false }),
		// A method is what the request line says, for forms too.
		runtime.WithDisablePathLengthFallback(),
	)
	background := context.Background()
	if err := enrichv1.RegisterEnrichServiceHandlerServer(background, gateway, &enrichService{server: s}); err != nil {
		return nil, err
	}
	if err := enrichv1.RegisterAdminServiceHandlerServer(background, gateway, &adminService{server: s}); err != nil {
		return nil, err
	}
	if err := enrichv1.RegisterLeadServiceHandlerServer(background, gateway, &leadService{server: s}); err != nil {
		return nil, err
	}
	if err := enrichv1.RegisterLeadAdminServiceHandlerServer(background, gateway, &leadAdminService{server: s}); err != nil {
		return nil, err
	}
	server := &http.Server{
		Handler:           s.edge(s.contract(gateway)),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelWarn),
	}
	if s.certificates != nil {
		server.TLSConfig = s.certificates.config("h2", "http/1.1")
	}
	return server, nil
}

// bodies are decoded so that an unknown field is an error, never ignored: a typo
// in max_cost_micros must not cost money.
var bodies = &wholeBody{runtime.JSONPb{UnmarshalOptions: protojson.UnmarshalOptions{DiscardUnknown: false}}}

// edge stands around every REST request: it gives it an id, refuses pages of
// other sites, and answers for a panic.
func (s *Server) edge(contract http.Handler) http.Handler {
	pages := s.pages()
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		ctx, call := begin(r.Context())
		page := pages[r.URL.Path]
		if page == nil {
			ctx = call.traced(ctx, propagation.HeaderCarrier(r.Header))
		}
		r = r.WithContext(ctx)
		w := &patientWriter{ResponseWriter: plain, patience: s.config.BodyTimeout}
		w.Header().Set("X-Request-Id", call.id)
		if r.ContentLength != 0 {
			forgoBody(w)
		}
		defer func() {
			if recover() != nil {
				s.writeProblem(ctx, w, s.panicked(ctx))
			}
			s.leaveREST(call)
		}()
		switch err := s.checkForeign(r.Header.Get("Origin"), r.Host); {
		case err != nil:
			s.writeProblem(ctx, w, err)
		case s.crossSite(w, r):
		case page != nil && r.Method != http.MethodGet && r.Method != http.MethodHead:
			w.Header().Set("Allow", "GET, HEAD")
			s.writeProblem(ctx, w, notAllowed([]string{http.MethodGet, http.MethodHead}))
		case page != nil:
			zipped := zip(w, r)
			page(zipped, r)
			zipped.close()
		default:
			contract.ServeHTTP(w, r)
		}
	})
}

// contract stands around the gateway: nothing is read of a request that has no
// route, does not pass the gate, is no JSON or is one too many, and nothing is
// decoded of one that is not there whole.
func (s *Server) contract(gateway http.Handler) http.Handler {
	routes := contractRoutes()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := r.Context()
		call := callOf(ctx)
		found, err := checkRoute(routes, w, r)
		if err != nil {
			s.writeProblem(ctx, w, err)
			return
		}
		call.method = found.to
		if err := s.admit(w, r, call); err != nil {
			s.writeProblem(ctx, w, err)
			return
		}
		if call.method.raw != nil {
			call.method.raw(s, w, r, call)
			return
		}
		body, err := s.readBody(w, r)
		if err != nil {
			s.writeProblem(ctx, w, err)
			return
		}
		if call.method.name == "Enrich" && r.Header.Get("Grpc-Timeout") == "" { // which the gateway reads
			s.enrichREST(w, r, call, body)
			return
		}
		r.Body = body
		zipped := zip(w, r)
		gateway.ServeHTTP(zipped, r)
		zipped.close()
	})
}

// admit lets a request in whose route is known; without an error it is counted
// as under way.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, call *call) (err error) {
	if r.URL.RawQuery != "" && !call.method.file {
		return queryRefused()
	}
	err = s.enter(call, credentialOfREST(r))
	if !call.rate.rate.unbounded() {
		w.Header().Set("RateLimit-Policy", call.rate.policy())
		w.Header().Set("RateLimit", call.rate.state())
	}
	if err != nil {
		return err
	}
	if call.key, err = idempotencyHeader(r.Header.Values("Idempotency-Key"), call.method); err != nil {
		return err
	}
	if err := checkBodyForm(w, r, call.method); err != nil {
		return err
	}
	if err := s.load.enter(&s.load.rest); err != nil {
		return err
	}
	call.counted = true
	return nil
}

// leaveREST ends a request.
func (s *Server) leaveREST(call *call) {
	if call.counted {
		s.load.rest.Add(-1)
	}
	if call.method != nil {
		s.leave(call, call.code)
	}
}

// crossSite tells the browser what an allowed page of another site may do
// (CORS, https://fetch.spec.whatwg.org/#http-cors-protocol), and answers its
// question beforehand.
func (s *Server) crossSite(w http.ResponseWriter, r *http.Request) (answered bool) {
	if len(s.config.AllowedOrigins) > 0 {
		w.Header().Add("Vary", "Origin")
	}
	origin := r.Header.Get("Origin")
	if !s.config.allowsOrigin(origin) {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", "RateLimit, RateLimit-Policy, Retry-After, X-Request-Id")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST")
	w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Encoding, Content-Type, Idempotency-Key, X-Api-Key")
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
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

// idempotencyHeader reads the Idempotency-Key header: a string of RFC 9651 in
// quotes, or the key as it is. The questions of a stream have their own.
func idempotencyHeader(values []string, method *method) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	key, ok := unquoted(strings.TrimSpace(values[0]))
	switch {
	case method.stream:
		return "", badKey("a stream has no key of its own: give each question an idempotencyKey")
	case len(values) > 1 || !ok || key == "" || len(key) > 255:
		return "", badKey(`the header Idempotency-Key must be one text of 1 to 255 visible ASCII characters, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"`)
	}
	return key, nil
}

// unquoted takes the quotes of a structured field's string off.
func unquoted(value string) (string, bool) {
	inside, quoted := strings.CutPrefix(value, `"`)
	var key strings.Builder
	for i := 0; i < len(inside); i++ {
		switch c := inside[i]; {
		case quoted && c == '"':
			return key.String(), i == len(inside)-1
		case quoted && c == '\\':
			i++
			if i == len(inside) || inside[i] != '"' && inside[i] != '\\' {
				return "", false
			}
			key.WriteByte(inside[i])
		case c <= ' ' || c > '~':
			return "", false
		default:
			key.WriteByte(c)
		}
	}
	return key.String(), !quoted
}
