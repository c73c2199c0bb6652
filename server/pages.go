package server

import (
	_ "embed"
	"net/http"

	"github.com/enrichd/enrichd/intake"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// docsPage shows the OpenAPI document to people, without anything from
// elsewhere.
//
//go:embed docs.html
var docsPage []byte

// pages are what REST serves to everybody beside the contract.
func (s *Server) pages() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"/openapi.json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(enrichv1.OpenAPI())
		},
		"/docs": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
			_, _ = w.Write(docsPage)
		},
		"/schemas/lead-captured.json": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/schema+json")
			_, _ = w.Write(intake.Schema)
		},
		"/healthz": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) },
		"/readyz":  s.writeReady,
	}
}
