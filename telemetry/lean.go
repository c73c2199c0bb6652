package telemetry

import (
	"context"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/embedded"
)

// lean decides at the first span of a request whether the request is traced,
// and makes no span at all for one that is not: the SDK would make ids for each
// and drop them. A caller's decision is followed.
type lean struct {
	embedded.TracerProvider
	sdk    trace.TracerProvider
	sample float64
}

// Tracer returns a tracer of the given name.
func (l *lean) Tracer(name string, options ...trace.TracerOption) trace.Tracer {
	return &leanTracer{sdk: l.sdk.Tracer(name, options...), sample: l.sample}
}

type leanTracer struct {
	embedded.Tracer
	sdk    trace.Tracer
	sample float64
}

// untraced marks the context of a request that is not traced. Its ids say
// nothing and are never shown or sent on, as it is not sampled.
var untraced = trace.SpanFromContext(trace.ContextWithSpanContext(context.Background(),
	trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}})))

// Start begins a span if the request is traced.
func (t *leanTracer) Start(ctx context.Context, name string, options ...trace.SpanStartOption) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	switch above := parent.SpanContext(); {
	case above.IsSampled():
		return t.sdk.Start(ctx, name, options...)
	case above.IsValid():
		return ctx, parent
	case rand.Float64() < t.sample:
		return t.sdk.Start(ctx, name, options...)
	default:
		return trace.ContextWithSpan(ctx, untraced), untraced
	}
}
