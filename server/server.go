// Package server is the edge: gRPC and REST listeners that translate messages
// into requests of the enrich package, answers into messages, and errors into
// the standard codes and details. It decides nothing.
//
// REST is served by grpc-gateway inside the process and calls the same method
// as gRPC does, so checks and errors are the same on both paths.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"time"

	"buf.build/go/protovalidate"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Enricher answers requests; *enrich.Service is one.
type Enricher interface {
	Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error)
}

// Server listens for gRPC and REST.
type Server struct {
	config   Config
	enricher Enricher
	rules    protovalidate.Validator
	log      *slog.Logger

	grpc         *grpc.Server
	health       *health.Server
	http         *http.Server
	grpcListener net.Listener
	httpListener net.Listener
}

// Listen opens both listeners; nothing is answered before Serve.
func Listen(config Config, enricher Enricher, log *slog.Logger) (*Server, error) {
	config = config.WithDefaults()
	if problems := config.Validate(); len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	rules, err := protovalidate.New(protovalidate.WithMessages(&enrichv1.EnrichRequest{}))
	if err != nil {
		return nil, fmt.Errorf("the contract's rules: %w", err)
	}
	s := &Server{config: config, enricher: enricher, rules: rules, log: log, health: health.NewServer()}
	s.grpc = grpc.NewServer(grpc.MaxRecvMsgSize(config.MaxMessageBytes))
	service := &enrichService{server: s}
	enrichv1.RegisterEnrichServiceServer(s.grpc, service)
	healthpb.RegisterHealthServer(s.grpc, s.health)
	if !config.NoReflection {
		reflection.Register(s.grpc)
	}
	handler, err := s.restHandler(service)
	if err != nil {
		return nil, err
	}
	s.http = &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}

	if s.grpcListener, err = net.Listen("tcp", config.GRPC); err != nil {
		return nil, fmt.Errorf("listen for gRPC: %w", err)
	}
	if s.httpListener, err = net.Listen("tcp", config.HTTP); err != nil {
		return nil, errors.Join(fmt.Errorf("listen for REST: %w", err), s.grpcListener.Close())
	}
	return s, nil
}

// GRPCAddress is where gRPC is listened for.
func (s *Server) GRPCAddress() string { return s.grpcListener.Addr().String() }

// HTTPAddress is where REST is listened for.
func (s *Server) HTTPAddress() string { return s.httpListener.Addr().String() }

// Serve answers until ctx ends, then lets the requests under way finish within
// the drain timeout and returns nil, or returns the error of a listener that
// failed.
func (s *Server) Serve(ctx context.Context) error {
	group, stopped := errgroup.WithContext(ctx)
	group.Go(func() error { return s.grpc.Serve(s.grpcListener) })
	group.Go(func() error {
		if err := s.http.Serve(s.httpListener); !errors.Is(err, http.ErrServerClosed) {
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

// drain reports the service as not serving, then stops both listeners, cutting
// off what is still under way after the drain timeout.
func (s *Server) drain() {
	s.health.Shutdown()
	ctx, cancel := context.WithTimeout(context.Background(), s.config.DrainTimeout)
	defer cancel()
	cut := context.AfterFunc(ctx, s.grpc.Stop)
	defer cut()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("requests were cut off", "path", "rest", "error", err)
		_ = s.http.Close()
	}
	s.grpc.GracefulStop()
}

// enrichService is the contract's service.
type enrichService struct {
	enrichv1.UnimplementedEnrichServiceServer
	server *Server
}

var _ enrichv1.EnrichServiceServer = (*enrichService)(nil)

// openAccount is who asks while there are no API keys.
var openAccount = enrich.Account{Name: "open"}

// Enrich answers one request, from gRPC and from REST. A panic becomes an
// Internal error under the request's id.
func (e *enrichService) Enrich(ctx context.Context, message *enrichv1.EnrichRequest) (response *enrichv1.EnrichResponse, err error) {
	s, requestID := e.server, rand.Text()
	defer func() {
		if panicked := recover(); panicked != nil {
			s.log.ErrorContext(ctx, "panic", "request_id", requestID, "stack", string(debug.Stack()))
			response, err = nil, statusOf(ctx, s.log, errors.New("panic"), requestID)
		}
	}()
	request, err := readRequest(s.rules, message, openAccount)
	if err != nil {
		return nil, statusOf(ctx, s.log, err, requestID)
	}
	answer, err := s.enricher.Enrich(ctx, request)
	if err != nil {
		return nil, statusOf(ctx, s.log, err, requestID)
	}
	return writeAnswer(answer), nil
}
