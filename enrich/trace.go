package enrich

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/email"
)

// tracer makes the spans of the story, one for each of its steps. Without a
// configured provider they cost nothing. No attribute is ever personal data.
var tracer = otel.Tracer("github.com/enrichd/enrichd/enrich")

// failed marks a span with the kind of the error that ended it.
func failed(span trace.Span, err error) error {
	span.SetStatus(codes.Error, string(AsError(err).Kind))
	return err
}

// recall asks the cache what is known.
func (s *Service) recall(ctx context.Context, key email.Key) (Record, Tier) {
	ctx, span := tracer.Start(ctx, "cache.recall")
	defer span.End()
	record, tier := s.Cache.Recall(ctx, key)
	span.SetAttributes(attribute.String("tier", string(tier)))
	return record, tier
}

// remember has the cache keep what was found for as long as it is of use, even
// when the caller has left meanwhile.
func (s *Service) remember(ctx context.Context, key email.Key, record Record) {
	ctx, span := tracer.Start(context.WithoutCancel(ctx), "cache.remember")
	defer span.End()
	s.Cache.Remember(ctx, key, record, s.Config.Freshness.KeepUntil(record))
}
