// Package server is the edge: gRPC and REST listeners that translate messages
// into requests of the enrich package, answers into messages, and errors into
// the standard codes and details. It knows who asks, and decides nothing else.
//
// REST is served by grpc-gateway inside the process and calls the same methods
// as gRPC does. Every request of either path passes the same gate (gate.go)
// before its message is looked at:
//
//	gRPC unary ──▶ unary  ─┐        ┌─▶ enrichService, leadService, and their operators'
//	gRPC stream ─▶ stream ─┼▶ enter ┤
//	REST ────────▶ admit  ─┘        └─▶ gateway ─▶ the same, or a stream of lines
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"buf.build/go/protovalidate"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// Server listens for gRPC and REST.
type Server struct {
	config Config
	parts  Parts
	// open: there are no accounts.
	open         bool
	rules        protovalidate.Validator
	certificates *certificates // nil without TLS
	log          *slog.Logger
	load         load
	rates        rates
	arrivals     arrivals
	// asking holds a token for each question of streams that is under way.
	asking chan struct{}
	// leaving is set when the service is told to stop, draining ends when it
	// takes no more requests.
	leaving    atomic.Bool
	draining   context.Context
	beginDrain context.CancelFunc

	grpc     *grpc.Server
	health   *health.Server
	http     *http.Server
	grpcDoor *door
	httpDoor *door
}

// Listen opens both listeners; nothing is answered before Serve.
func Listen(config Config, parts Parts) (*Server, error) {
	config = config.WithDefaults()
	problems := config.Validate()
	if parts.Accounts == nil {
		problems = append(problems, config.ValidateOpen()...)
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	grpcListener, err := net.Listen("tcp", config.GRPC)
	if err != nil {
		return nil, fmt.Errorf("listen for gRPC: %w", err)
	}
	httpListener, err := net.Listen("tcp", config.HTTP)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for REST: %w", err), grpcListener.Close())
	}
	s, err := newServer(config, parts, grpcListener, httpListener)
	if err != nil {
		return nil, errors.Join(err, grpcListener.Close(), httpListener.Close())
	}
	return s, nil
}

func newServer(config Config, parts Parts, grpcListener, httpListener net.Listener) (*Server, error) {
	s := &Server{
		config: config, parts: parts.withDefaults(), open: parts.Accounts == nil,
		load: load{most: int64(config.MaxRequests)}, rates: rates{began: time.Now()},
		arrivals: arrivals{patience: config.BodyTimeout}, asking: make(chan struct{}, config.MaxRequests),
		health: health.NewServer(), grpcDoor: newDoor(grpcListener), httpDoor: newDoor(httpListener),
	}
	s.log = s.parts.Log
	var err error
	if s.rules, err = contractRules(); err != nil {
		return nil, fmt.Errorf("the contract's rules: %w", err)
	}
	if s.certificates, err = newCertificates(config.TLS, s.log); err != nil {
		return nil, err
	}
	s.draining, s.beginDrain = context.WithCancel(context.Background())
	s.tellHealth(nil)
	if s.http, err = s.newREST(); err != nil {
		return nil, err
	}
	s.grpc = s.newGRPC()
	return s, nil
}

// contractRules checks the requests of the contract.
func contractRules() (protovalidate.Validator, error) {
	var requests []protoreflect.MessageDescriptor
	for _, service := range services() {
		for i := range service.Methods().Len() {
			requests = append(requests, service.Methods().Get(i).Input())
		}
	}
	return protovalidate.New(protovalidate.WithMessageDescriptors(requests...))
}

// GRPCAddress is where gRPC is listened for.
func (s *Server) GRPCAddress() string { return s.grpcDoor.Addr().String() }

// HTTPAddress is where REST is listened for.
func (s *Server) HTTPAddress() string { return s.httpDoor.Addr().String() }

// Serve answers until ctx ends and for the drain delay after it, then lets the
// requests under way finish within the drain timeout and returns nil, or returns
// the error of a listener that failed.
func (s *Server) Serve(ctx context.Context) error {
	group, stopped := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.grpc.Serve(s.grpcDoor); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		if err := s.serveHTTP(); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		s.watchReadiness(stopped)
		return nil
	})
	group.Go(func() error {
		<-stopped.Done()
		if ctx.Err() != nil { // else a listener failed
			s.announce()
		}
		s.drain()
		return nil
	})
	return group.Wait()
}

func (s *Server) serveHTTP() error {
	if s.certificates != nil {
		return s.http.ServeTLS(s.httpDoor, "", "") // TLSConfig has the certificates
	}
	return s.http.Serve(s.httpDoor)
}
