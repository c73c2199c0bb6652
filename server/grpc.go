package server

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// workers are goroutines that answer gRPC requests one after the other; while all
// are busy, every further request has one of its own. To grow the stack of a new
// one is an eighth of a memory hit.
const workers = 32

// newGRPC makes the gRPC server of the contract and its companions. A request
// passes arrive when its headers are there, then unary or stream.
func (s *Server) newGRPC() *grpc.Server {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(s.config.MaxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(uint32(s.config.MaxStreams)),
		grpc.ConnectionTimeout(headerTimeout),
		grpc.ForceServerCodecV2(newCodec()),
		grpc.InTapHandle(s.arrive),
		grpc.NumStreamWorkers(workers),
		grpc.UnaryInterceptor(s.unary),
		grpc.StreamInterceptor(s.stream),
		grpc.UnknownServiceHandler(s.unknownMethod),
	}
	if s.certificates != nil {
		options = append(options, grpc.Creds(credentials.NewTLS(s.certificates.config("h2"))))
	}
	server := grpc.NewServer(options...)
	enrichv1.RegisterEnrichServiceServer(server, &enrichService{server: s})
	enrichv1.RegisterAdminServiceServer(server, &adminService{server: s})
	enrichv1.RegisterLeadServiceServer(server, &leadService{server: s})
	enrichv1.RegisterLeadAdminServiceServer(server, &leadAdminService{server: s})
	healthpb.RegisterHealthServer(server, s.health)
	if !s.config.NoReflection {
		reflection.Register(server)
	}
	return server
}

// unary stands around every unary call.
func (s *Server) unary(ctx context.Context, message any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (response any, err error) {
	call := callOf(ctx)
	call.arrived()
	defer func() {
		if recover() != nil {
			response, err = nil, s.panicked(ctx)
		}
		s.leaveGRPC(ctx, call, err)
	}()
	if err := s.enterGRPC(ctx, call, methods[info.FullMethod]); err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return handler(ctx, message)
}

// stream stands around every stream. The companions' have no end of their own,
// so a drain ends them.
func (s *Server) stream(service any, stream grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	ctx := stream.Context()
	call := callOf(ctx)
	call.arrived()
	defer func() {
		if recover() != nil {
			err = s.panicked(ctx)
		}
		s.leaveGRPC(ctx, call, err)
	}()
	if err := s.enterGRPC(ctx, call, methods[info.FullMethod]); err != nil {
		return s.statusOf(ctx, err)
	}
	if call.method == nil {
		defer context.AfterFunc(s.draining, func() { time.AfterFunc(companionGrace, call.arriving.cancel) })()
	}
	return handler(service, stream)
}

// enterGRPC lets a gRPC request in; a nil method is a companion's. Companions
// pass no gate and are not counted: a full service is still a healthy one.
func (s *Server) enterGRPC(ctx context.Context, call *call, method *method) error {
	call.method = method
	if err := s.checkForeign(call.headers.Get("origin"), call.headers.Get(":authority")); err != nil || method == nil {
		return err
	}
	if err := s.enter(call, s.credentialOfGRPC(ctx, call)); err != nil {
		return err
	}
	if err := s.load.enter(&s.load.grpc); err != nil {
		return err
	}
	call.counted = true
	return nil
}

// leaveGRPC ends a request, let in or not.
func (s *Server) leaveGRPC(ctx context.Context, call *call, err error) {
	if call.counted {
		s.load.grpc.Add(-1)
	}
	if !call.rate.rate.unbounded() {
		_ = grpc.SetTrailer(ctx, metadata.Pairs("ratelimit-policy", call.rate.policy(), "ratelimit", call.rate.state()))
	}
	if call.method != nil {
		s.leave(call, status.Code(err))
	}
}

// unknownMethod answers calls of methods that nothing here has.
func (s *Server) unknownMethod(_ any, stream grpc.ServerStream) error {
	return describe(stream.Context(), codes.Unimplemented, &enrich.Error{
		Kind: enrich.Invalid, Reason: "unknown_method", Offset: -1, Message: "this service has no such method",
	}).Err()
}
