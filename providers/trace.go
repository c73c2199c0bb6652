package providers

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// carryTrace has a call tell which trace it belongs to, if the request behind it
// is traced (https://www.w3.org/TR/trace-context/). The tracestate stays here:
// it holds what the caller's own systems wrote.
func carryTrace(ctx context.Context, header http.Header) {
	if !trace.SpanContextFromContext(ctx).IsSampled() {
		return
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
	header.Del("tracestate")
}
