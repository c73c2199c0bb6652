package router

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/quota"
)

// tracer makes the spans router.plan, quota.wait and provider.call. Attributes
// are made only while somebody listens, and never of personal data.
var tracer = otel.Tracer("github.com/enrichd/enrichd/router")

// startWait begins the span of waiting for a token.
func startWait(ctx context.Context, ask quota.Ask) (context.Context, trace.Span) {
	return start(ctx, "quota.wait", ask)
}

// startCall begins the span of one exchange, which may outlive its parents.
func startCall(ctx context.Context, ask quota.Ask) (context.Context, trace.Span) {
	return start(ctx, "provider.call", ask)
}

func start(ctx context.Context, name string, ask quota.Ask) (context.Context, trace.Span) {
	ctx, span := tracer.Start(ctx, name)
	if span.IsRecording() {
		span.SetAttributes(attribute.String("provider", ask.Provider), attribute.String("operation", ask.Operation))
	}
	return ctx, span
}

// endWith ends a span with a word for what came of it.
func endWith(span trace.Span, key, word string) {
	if span.IsRecording() {
		span.SetAttributes(attribute.String(key, word))
	}
	span.End()
}

// decide makes a plan and its span: whom it chose to ask next, and who was
// dropped because of what.
func (w *walk) decide() plan {
	_, span := tracer.Start(w.ctx, "router.plan")
	defer span.End()
	plan := w.plan()
	if !span.IsRecording() {
		return plan
	}
	if len(plan.legs) > 0 {
		span.SetAttributes(attribute.String("provider", plan.legs[0].call.name), attribute.String("operation", plan.legs[0].call.operation))
	}
	for _, d := range plan.drops {
		span.AddEvent("dropped", trace.WithAttributes(
			attribute.String("provider", d.call.name), attribute.String("operation", d.call.operation), attribute.String("reason", d.reason)))
	}
	return plan
}
