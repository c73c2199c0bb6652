// Package fakevendor is a server of fake vendors: each speaks the dialect of a
// real one, knows its seeded part of an invented world, enforces strict limits,
// bills its credits, and misbehaves when told to.
//
// It is the independent counterpart of the definition engine: written from the
// vendors' published facts and sharing no code with the definitions, so that
// the two check each other.
//
//	arrival ── fault? ── key ── ban, limits ── credits ── input ── what it knows
//	   │         │                                                    │
//	   │         └─ outage, hang, 5xx, storm: answered instead        ▼
//	   └──────────────────────────── latency ── damaged body? ── answer ── ledger
//
// Every vendor answers below its own name ("/hunter/v2/people/find"), and
// "/_control/" reads the ledger and changes faults, limits and data while the
// server runs. One seed gives one world and one sequence of faults.
package fakevendor

import (
	"context"
	"errors"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/providers/fakevendor/truth"
)

// Server serves fake vendors over HTTP. Make it with New. It is safe for
// concurrent use and starts no goroutines of its own but those of Serve.
type Server struct {
	world   truth.World
	vendors map[string]*vendor
	control http.Handler
}

var _ http.Handler = (*Server)(nil)

// New returns a server of the configured vendors, or every problem of the
// configuration.
func New(config Config) (*Server, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	s := &Server{world: truth.World{Seed: config.Seed}, vendors: make(map[string]*vendor, len(config.Vendors))}
	for name, v := range config.Vendors {
		made, err := newVendor(name, v, config)
		if err != nil {
			return nil, within("vendors."+name, err)
		}
		s.vendors[name] = made
	}
	s.control = newControl(s)
	return s, nil
}

// ServeHTTP answers for the vendor that the path's first part names.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if name == controlName {
		s.control.ServeHTTP(w, r)
		return
	}
	v, ok := s.vendors[name]
	if !ok {
		http.Error(w, "no such fake vendor; there are: "+strings.Join(s.Vendors(), ", "), http.StatusNotImplemented)
		return
	}
	v.serve(w, r, "/"+rest)
}

// Vendors lists the vendors' names in order.
func (s *Server) Vendors() []string { return slices.Sorted(maps.Keys(s.vendors)) }

// Serve serves on the listener until ctx ends, and closes it. Calls under way
// get a moment to end, hanging ones are cut off. It returns nil after ctx
// ended, else why serving failed.
func (s *Server) Serve(ctx context.Context, listener net.Listener) error {
	calls, cutOff := context.WithCancel(context.Background())
	defer cutOff()
	server := &http.Server{
		Handler:           s,
		BaseContext:       func(net.Listener) context.Context { return calls },
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       15 * time.Minute,
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	cutOff()
	grace, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		server.Close()
	}
	if err := <-done; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
