package server

import (
	"context"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// enrichService is the contract's service, for gRPC and for REST.
type enrichService struct {
	enrichv1.UnimplementedEnrichServiceServer
	server *Server
}

var _ enrichv1.EnrichServiceServer = (*enrichService)(nil)

// Enrich answers one request.
func (e *enrichService) Enrich(ctx context.Context, message *enrichv1.EnrichRequest) (*enrichv1.EnrichResponse, error) {
	s, call := e.server, callOf(ctx)
	if err := takeKey(call, &message.IdempotencyKey); err != nil {
		return nil, s.statusOf(ctx, err)
	}
	request, err := s.readRequest(message, call.caller.Account)
	if err == nil {
		err = s.load.shed(request.Lane)
	}
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	request.ID = call.id
	response, source, err := s.answer(ctx, call, message, request)
	call.source = source
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return response, nil
}

// answer answers one question, of its own or of a batch or stream; one with a
// key that was answered before, as before.
func (s *Server) answer(ctx context.Context, call *call, message *enrichv1.EnrichRequest, request enrich.Request) (response *enrichv1.EnrichResponse, source string, err error) {
	if message.GetIdempotencyKey() != "" {
		call.leaveMemory()
		return s.answerOnce(ctx, call, message, request)
	}
	response, recital := s.recite(ctx, call, request)
	if response != nil {
		return response, string(enrich.MemoryTier), nil
	}
	call.leaveMemory()
	answer, err := s.parts.Enricher.Enrich(ctx, request)
	if err != nil {
		return nil, sourceNone, err
	}
	response = s.write(ctx, call, &answer, &recital)
	return response, sourceOf(&answer), nil
}
