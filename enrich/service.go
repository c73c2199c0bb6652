package enrich

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/email"
)

// Service answers requests. Its fields are set before the first use and not
// changed afterwards; it is safe for concurrent use.
type Service struct {
	// Normalizer reads addresses and domains.
	Normalizer *email.Normalizer
	// Cache recalls what was found before.
	Cache Recall
	// Finder asks providers for the rest.
	Finder Finder
	// Renderings keep answers as they were sent; nil: none is kept.
	Renderings Renderings
	// Suppressions know who must not be looked up; nil: nobody.
	Suppressions Suppressions
	// Auditor is told what was asked; nil: nobody is.
	Auditor Auditor
	// Config is obeyed until Apply; its defaults must be set.
	Config Config
	// Log receives what callers cannot be told.
	Log *slog.Logger

	applied   atomic.Pointer[Config]
	flights   flights
	refreshes refreshes
	shadows   shadows
}

// Enrich answers one request. The error is an [Error]; "the vendors do not
// know" is an answer, and so is a part of what was wanted. With an error the
// answer has the attempts and their cost alone.
func (s *Service) Enrich(ctx context.Context, request Request) (Answer, error) {
	ctx, span := tracer.Start(ctx, "enrich")
	defer span.End()

	q, err := s.understand(ctx, request, time.Now())
	if err != nil {
		s.auditRefusal(request, err)
		return Answer{}, failed(span, err)
	}
	if q.deadline.Sub(q.now) < inTime {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, q.deadline)
		defer cancel()
	}
	s.recall(ctx, q)
	if q.lacking() {
		budget, cancel := context.WithDeadline(ctx, q.deadline)
		defer cancel()
		s.seekBoth(budget, q)
	}
	return s.conclude(span, q)
}

// inTime is more than a recall ever takes. A deadline costs a fortieth of a recall
// from Redis, and only those need one who have less time or wait for vendors.
const inTime = time.Second

// Apply has the requests that come from now on obey another configuration. Its
// defaults are set here.
func (s *Service) Apply(config Config) {
	config = config.WithDefaults()
	s.applied.Store(&config)
}

// config is what is obeyed now.
func (s *Service) config() *Config {
	if applied := s.applied.Load(); applied != nil {
		return applied
	}
	return &s.Config
}

// Close lets no refresh begin any more and waits until the look-ups under way
// have ended, or ctx has.
func (s *Service) Close(ctx context.Context) error {
	return s.flights.close(ctx)
}

// conclude makes the answer of what was found. Who was erased while it was
// looked for is not told about.
func (s *Service) conclude(span trace.Span, q *question) (Answer, error) {
	answer, err := Answer{}, s.suppress(q)
	if err == nil {
		answer, err = s.compose(q)
	}
	audited := s.auditAnswer(q, &answer, err)
	if err != nil {
		return Answer{Attempts: answer.Attempts, Cost: answer.Cost}, failed(span, err)
	}
	if s.Renderings != nil {
		answer.keepsake = q.keepsake(audited)
	}
	span.SetAttributes(attribute.String("outcome", answer.Completeness.String()))
	return answer, nil
}
