// Package server is the edge: gRPC and REST listeners that translate messages
// into requests of the enrich package, answers into messages, and errors into
// the standard codes and details. It decides nothing.
//
// REST is served by grpc-gateway inside the process and calls the same method
// as gRPC does, so checks and errors are the same on both paths.
package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"buf.build/go/protovalidate"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Server listens for gRPC and REST.
type Server struct {
	config   Config
	enricher Enricher
	rules    protovalidate.Validator
	log      *slog.Logger
	load     load
	// draining ends when the service begins to stop.
	draining   context.Context
	beginDrain context.CancelFunc

	grpc     *grpc.Server
	health   *health.Server
	http     *http.Server
	grpcDoor *door
	httpDoor *door
}

// Listen opens both listeners; nothing is answered before Serve.
func Listen(config Config, enricher Enricher, log *slog.Logger) (*Server, error) {
	config = config.WithDefaults()
	if problems := config.Validate(); len(problems) > 0 {
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
	s, err := newServer(config, enricher, log, grpcListener, httpListener)
	if err != nil {
		return nil, errors.Join(err, grpcListener.Close(), httpListener.Close())
	}
	return s, nil
}

func newServer(config Config, enricher Enricher, log *slog.Logger, grpcListener, httpListener net.Listener) (*Server, error) {
	rules, err := protovalidate.New(protovalidate.WithMessages(&enrichv1.EnrichRequest{}))
	if err != nil {
		return nil, fmt.Errorf("the contract's rules: %w", err)
	}
	s := &Server{
		config: config, enricher: enricher, rules: rules, log: log, load: load{most: int64(config.MaxRequests)},
		health: health.NewServer(), grpcDoor: newDoor(grpcListener), httpDoor: newDoor(httpListener),
	}
	s.health.SetServingStatus(enrichv1.EnrichService_ServiceDesc.ServiceName, healthpb.HealthCheckResponse_SERVING)
	s.draining, s.beginDrain = context.WithCancel(context.Background())
	service := &enrichService{server: s}
	s.grpc = s.newGRPC(service)
	if s.http, err = s.newREST(service); err != nil {
		return nil, err
	}
	return s, nil
}

// GRPCAddress is where gRPC is listened for.
func (s *Server) GRPCAddress() string { return s.grpcDoor.Addr().String() }

// HTTPAddress is where REST is listened for.
func (s *Server) HTTPAddress() string { return s.httpDoor.Addr().String() }

// Serve answers until ctx ends, then lets the requests under way finish within
// the drain timeout and returns nil, or returns the error of a listener that
// failed.
func (s *Server) Serve(ctx context.Context) error {
	group, stopped := errgroup.WithContext(ctx)
	group.Go(func() error {
		if err := s.grpc.Serve(s.grpcDoor); !errors.Is(err, grpc.ErrServerStopped) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		if err := s.http.Serve(s.httpDoor); !errors.Is(err, http.ErrServerClosed) {
			return err
		}
		return nil
	})
	group.Go(func() error {
		<-stopped.Done()
		s.drain()
		return nil
	})
	return group.Wait()
}
