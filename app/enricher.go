package app

import (
	"context"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/telemetry"
)

// enricher counts what the answers of the service have saved.
type enricher struct {
	service *enrich.Service
	metrics *telemetry.Metrics
}

// Enrich answers one request.
func (e enricher) Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error) {
	answer, err := e.service.Enrich(ctx, request)
	e.metrics.Answered(answer)
	return answer, err
}

// EnrichAll answers many.
func (e enricher) EnrichAll(ctx context.Context, requests []enrich.Request, each func(i int, answer enrich.Answer, err error)) {
	e.service.EnrichAll(ctx, requests, func(i int, answer enrich.Answer, err error) {
		e.metrics.Answered(answer)
		each(i, answer, err)
	})
}
