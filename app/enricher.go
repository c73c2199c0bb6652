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
	e.metrics.Saved(answer.Saved())
	return answer, err
}

// EnrichAll answers many.
func (e enricher) EnrichAll(ctx context.Context, requests []enrich.Request, each func(i int, answer enrich.Answer, err error)) {
	e.service.EnrichAll(ctx, requests, func(i int, answer enrich.Answer, err error) {
		e.metrics.Saved(answer.Saved())
		each(i, answer, err)
	})
}

// Recite answers a request from what was rendered before.
func (e enricher) Recite(ctx context.Context, request enrich.Request, form enrich.RenderedForm) enrich.Recital {
	recital := e.service.Recite(ctx, request, form)
	e.metrics.Saved(recital.Saved)
	return recital
}

// MayTell tells whether an answer may be given again.
func (e enricher) MayTell(address, domain string) bool { return e.service.MayTell(address, domain) }
