package server

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
)

// tracer makes the span around each of the contract's requests. A caller's
// trace (https://www.w3.org/TR/trace-context/) goes on in it.
var tracer = otel.Tracer("github.com/enrichd/enrichd/server")

// asServer is made once, for it is of every request.
var asServer = []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}

// traced begins the request's span; leave ends it.
func (c *call) traced(ctx context.Context, headers propagation.TextMapCarrier) context.Context {
	ctx, c.span = tracer.Start(otel.GetTextMapPropagator().Extract(ctx, headers), "request", asServer...)
	return ctx
}

// traceContext is what the observer gets to know of the request's trace.
func (c *call) traceContext() context.Context {
	if !c.span.SpanContext().IsSampled() {
		return context.Background()
	}
	return trace.ContextWithSpan(context.Background(), c.span)
}

// endTrace ends the request's span.
func (c *call) endTrace(code codes.Code) {
	if c.span.IsRecording() {
		c.span.SetAttributes(attribute.String("method", c.method.name), attribute.String("code", code.String()), attribute.String("source", c.source))
		if code == codes.Internal || code == codes.Unavailable {
			c.span.SetStatus(otelcodes.Error, code.String())
		}
	}
	c.span.End()
}

// grpcHeaders are a gRPC request's headers as the propagator reads them. Their
// names are in lower case, as HTTP/2 has them.
type grpcHeaders metadata.MD

// Get returns a header's first value. The name is in lower case.
func (h grpcHeaders) Get(key string) string {
	if values := h[key]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// Set is not used: requests are read only.
func (h grpcHeaders) Set(string, string) {}

// Keys lists the names of the headers.
func (h grpcHeaders) Keys() (keys []string) {
	for key := range h {
		keys = append(keys, key)
	}
	return keys
}
