package server

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"
)

// traces is an observer that keeps the traces it is told of.
type traces struct {
	mu  sync.Mutex
	ids []trace.TraceID
}

func (o *traces) Finished(ctx context.Context, _, _, _, _ string, _ time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ids = append(o.ids, trace.SpanContextFromContext(ctx).TraceID())
}

func TestACallersTraceGoesOn(t *testing.T) {
	recorder := tracetest.NewSpanRecorder()
	usualTracer, usualForm := tracer, otel.GetTextMapPropagator()
	tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	otel.SetTextMapPropagator(propagation.TraceContext{})
	defer func() { tracer = usualTracer; otel.SetTextMapPropagator(usualForm) }()

	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	want, err := trace.TraceIDFromHex("0af7651916cd43dd8448eb211c80319c")
	if err != nil {
		t.Fatal(err)
	}
	told := &traces{}
	s := &Server{parts: Parts{Observer: told}}
	for name, headers := range map[string]propagation.TextMapCarrier{
		"gRPC": grpcHeaders{"traceparent": {parent}},
		"REST": propagation.HeaderCarrier{"Traceparent": {parent}},
	} {
		ctx, call := begin(t.Context())
		ctx = call.traced(ctx, headers)
		if got := trace.SpanContextFromContext(ctx).TraceID(); got != want {
			t.Errorf("%s: trace %s, want %s", name, got, want)
		}
		call.method = &method{name: "Enrich"}
		s.leave(call, codes.OK)
	}
	if spans := recorder.Ended(); len(spans) != 2 || spans[0].Name() != "request" || !spans[0].Parent().IsRemote() {
		t.Errorf("spans = %v", spans)
	}
	if !slices.Equal(told.ids, []trace.TraceID{want, want}) {
		t.Errorf("the observer was told of %v", told.ids)
	}
}
