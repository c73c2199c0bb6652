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

// recallAll asks the caches what is known of the subjects and says how many
// each of them knew.
func (s *Service) recallAll(ctx context.Context, keys []email.Key) []Recalled {
	ctx, span := tracer.Start(ctx, "cache.recall")
	defer span.End()
	recalled := s.Cache.RecallAll(ctx, keys)
	if span.IsRecording() {
		byTier := map[Tier]int{}
		for _, known := range recalled {
			byTier[known.Tier]++
		}
		span.SetAttributes(attribute.Int("memory", byTier[MemoryTier]), attribute.Int("redis", byTier[RedisTier]), attribute.Int("unknown", byTier[NoTier]))
	}
	return recalled
}

// remember has the cache keep what was found for as long as it is of use, even
// when the caller has left meanwhile. What is suppressed, or cannot be told from
// it, is not kept.
func (s *Service) remember(ctx context.Context, key email.Key, record Record) {
	if suppressed, err := s.suppressions().Suppressed(key); suppressed || err != nil {
		return
	}
	ctx, span := tracer.Start(context.WithoutCancel(ctx), "cache.remember")
	defer span.End()
	s.Cache.Remember(ctx, key, record, s.config().Freshness.KeepUntil(record))
}
