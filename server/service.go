package server

import (
	"context"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// Enricher answers requests; *enrich.Service is one.
type Enricher interface {
	Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error)
}

// enrichService is the contract's service, for gRPC and for REST.
type enrichService struct {
	enrichv1.UnimplementedEnrichServiceServer
	server *Server
}

var _ enrichv1.EnrichServiceServer = (*enrichService)(nil)

// openAccount is who asks while there are no API keys.
var openAccount = enrich.Account{Name: "open"}

// Enrich answers one request.
func (e *enrichService) Enrich(ctx context.Context, message *enrichv1.EnrichRequest) (*enrichv1.EnrichResponse, error) {
	s := e.server
	request, err := readRequest(s.rules, message, openAccount)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	answer, err := s.enricher.Enrich(ctx, request)
	if err != nil {
		return nil, s.statusOf(ctx, err)
	}
	return writeAnswer(answer), nil
}
