package server

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/tap"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// newGRPC makes the gRPC server of the contract and its companions. A request
// passes arrive when its headers are there, then unary or stream.
func (s *Server) newGRPC(service enrichv1.EnrichServiceServer) *grpc.Server {
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(s.config.MaxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(uint32(s.config.MaxStreams)),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.InTapHandle(s.arrive),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(s.unknownMethod),
	)
	enrichv1.RegisterEnrichServiceServer(server, service)
	healthpb.RegisterHealthServer(server, s.health)
	if !s.config.NoReflection {
		reflection.Register(server)
	}
	return server
}

type arrivalKey struct{}

// arrival ends a gRPC request whose message does not arrive: gRPC itself waits
// for it without limit, in a drain too.
type arrival struct {
	cancel    context.CancelFunc
	timer     *time.Timer
	keepAlive func() bool // stops a drain from ending the request
}

// arrive gives a request its id and the time to send its message.
func (s *Server) arrive(ctx context.Context, _ *tap.Info) (context.Context, error) {
	ctx, cancel := context.WithCancel(withRequestID(ctx))
	arriving := &arrival{
		cancel:    cancel,
		timer:     time.AfterFunc(s.config.BodyTimeout, cancel),
		keepAlive: context.AfterFunc(s.draining, cancel),
	}
	return context.WithValue(ctx, arrivalKey{}, arriving), nil
}

// arrived lets a request take its time from here on.
func arrived(ctx context.Context) *arrival {
	there := ctx.Value(arrivalKey{}).(*arrival)
	there.timer.Stop()
	there.keepAlive()
	return there
}

// unary stands around every unary call. Companions are not counted: a full
// service is still a healthy one.
func (s *Server) unary(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	arrived(ctx)
	defer func() {
		if recover() != nil {
			response, err = nil, s.panicked(ctx)
		}
	}()
	if err := s.checkCaller(ctx); err != nil {
		return nil, s.statusOf(ctx, err)
	}
	if strings.HasPrefix(info.FullMethod, "/enrich.") {
		if err := s.load.enter(&s.load.grpc); err != nil {
			return nil, s.statusOf(ctx, err)
		}
		defer s.load.grpc.Add(-1)
	}
	return handler(ctx, message)
}

// stream stands around every stream, which are the companions' alone. They have
// no end of their own, so a drain ends them.
func (s *Server) stream(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	there := arrived(ctx)
	defer func() {
		if recover() != nil {
			err = s.panicked(ctx)
		}
	}()
	if err := s.checkCaller(ctx); err != nil {
		return s.statusOf(ctx, err)
	}
	defer context.AfterFunc(s.draining, func() { time.AfterFunc(companionGrace, there.cancel) })()
	return handler(service, stream)
}

func (s *Server) checkCaller(ctx context.Context) error {
	var origin, host string
	if values := metadata.ValueFromIncomingContext(ctx, "origin"); len(values) > 0 {
		origin = values[0]
	}
	if values := metadata.ValueFromIncomingContext(ctx, ":authority"); len(values) > 0 {
		host = values[0]
	}
	return s.config.checkForeign(origin, host)
}

// unknownMethod answers calls of methods that nothing here has.
func (s *Server) unknownMethod(_ any, stream grpc.ServerStream) error {
	return describe(stream.Context(), codes.Unimplemented, &enrich.Error{
		Kind: enrich.Invalid, Reason: "unknown_method", Offset: -1, Message: "this service has no such method",
	}).Err()
}
