package telemetry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

// leanly returns a lean tracer and what it made.
func leanly(sample float64) (trace.Tracer, *tracetest.SpanRecorder) {
	recorder := tracetest.NewSpanRecorder()
	provider := &lean{sdk: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)), sample: sample}
	return provider.Tracer("test"), recorder
}

// story makes the spans of one request.
func story(ctx context.Context, tracer trace.Tracer) {
	ctx, root := tracer.Start(ctx, "enrich")
	_, child := tracer.Start(ctx, "normalize")
	child.End()
	root.End()
}

func TestARequestIsTracedWholeOrNotAtAll(t *testing.T) {
	tracer, recorder := leanly(0.25)
	for range 4000 {
		story(t.Context(), tracer)
	}
	spans := recorder.Ended()
	if got := len(spans); got%2 != 0 || got < 1600 || got > 2400 {
		t.Errorf("%d spans of 4000 requests of two, want about a quarter", got)
	}
	children := map[trace.TraceID]int{}
	for _, span := range spans {
		children[span.SpanContext().TraceID()]++
	}
	for id, count := range children {
		if count != 2 {
			t.Errorf("trace %s has %d spans, want 2", id, count)
		}
	}
}

func TestTheCallersDecisionIsFollowed(t *testing.T) {
	remote := func(flags trace.TraceFlags) context.Context {
		return trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: trace.TraceID{7}, SpanID: trace.SpanID{7}, TraceFlags: flags, Remote: true,
		}))
	}
	tracer, recorder := leanly(-1)
	story(remote(trace.FlagsSampled), tracer)
	if spans := recorder.Ended(); len(spans) != 2 || spans[0].SpanContext().TraceID() != (trace.TraceID{7}) {
		t.Errorf("a traced caller's request has %d spans", len(spans))
	}
	tracer, recorder = leanly(1)
	story(remote(0), tracer)
	if spans := recorder.Ended(); len(spans) != 0 {
		t.Errorf("the request of a caller who does not trace has %d spans", len(spans))
	}
}

// failingExporter fails while it is told to.
type failingExporter struct{ fails bool }

func (e *failingExporter) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	if e.fails {
		return errors.New("connection refused")
	}
	return nil
}

func (e *failingExporter) Shutdown(context.Context) error { return nil }

func TestACollectorThatIsAwayIsWarnedOfOnce(t *testing.T) {
	text := &lockedBuffer{}
	exporter := &failingExporter{fails: true}
	watched := &watchedExporter{SpanExporter: exporter, counts: &spans{}, log: NewLogger(text, nil, Config{})}
	batch := make([]sdktrace.ReadOnlySpan, 10)
	send := func(times int) {
		for range times {
			if err := watched.ExportSpans(t.Context(), batch); err != nil {
				t.Errorf("the failure is told of twice: %v", err)
			}
		}
	}
	send(5)
	exporter.fails = false
	send(2)
	exporter.fails = true
	send(3)
	if got := strings.Count(text.String(), "cannot be reached"); got != 2 {
		t.Errorf("%d warnings of two outages: %s", got, text.String())
	}
	if failed, sent := watched.counts.failed.Load(), watched.counts.sent.Load(); failed != 80 || sent != 20 {
		t.Errorf("failed = %d, sent = %d", failed, sent)
	}
}

// TestSpansReachACollector is the only one that traces the whole process.
func TestSpansReachACollector(t *testing.T) {
	var names atomic.Value
	peer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &request); err != nil || r.Header.Get("X-Token") != "secret" {
			http.Error(w, "refused", http.StatusBadRequest)
			return
		}
		var got []string
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					got = append(got, span.GetName())
				}
			}
		}
		names.Store(strings.Join(got, " "))
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer peer.Close()
	text := &lockedBuffer{}
	seen, err := New(Config{Traces: TracesConfig{Endpoint: peer.URL, Sample: 1, Headers: map[string]string{"X-Token": "secret"}}}, NewLogger(text, nil, Config{}))
	if err != nil {
		t.Fatal(err)
	}
	story(t.Context(), otel.Tracer("test"))
	if err := seen.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := names.Load(); got != "normalize enrich" {
		t.Errorf("spans = %v, log = %s", got, text.String())
	}
	if counts := seen.Metrics.spans; counts.ended.Load() != 2 || counts.sent.Load() != 2 || counts.failed.Load() != 0 {
		t.Errorf("ended = %d, sent = %d, failed = %d", counts.ended.Load(), counts.sent.Load(), counts.failed.Load())
	}
}

func TestAnUnreachableCollectorIsNeverInTheWay(t *testing.T) {
	for _, endpoint := range []string{"http://127.0.0.1:1", "grpc://127.0.0.1:1"} {
		text := &lockedBuffer{}
		counts := &spans{}
		tracing, err := startTraces(TracesConfig{Endpoint: endpoint, Sample: 1, Timeout: 200 * time.Millisecond}, counts, NewLogger(text, nil, Config{}))
		if err != nil {
			t.Fatal(err)
		}
		tracer := (&lean{sdk: tracing.provider, sample: 1}).Tracer("test")
		for range 3 * queuedSpans {
			story(t.Context(), tracer)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		tracing.close(ctx)
		if ctx.Err() != nil {
			t.Errorf("%s: close waited for the collector", endpoint)
		}
		cancel()
		if counts.ended.Load() != 6*queuedSpans || counts.failed.Load() == 0 || counts.sent.Load() != 0 {
			t.Errorf("%s: ended = %d, sent = %d, failed = %d", endpoint, counts.ended.Load(), counts.sent.Load(), counts.failed.Load())
		}
		if got := strings.Count(text.String(), "\n"); got != 1 {
			t.Errorf("%s: %d lines: %s", endpoint, got, text.String())
		}
	}
}

// BenchmarkUntraced is what the spans of a request cost that is not traced.
func BenchmarkUntraced(b *testing.B) {
	tracer, _ := leanly(0.01)
	for b.Loop() {
		ctx, root := tracer.Start(context.Background(), "enrich")
		for range 3 {
			_, child := tracer.Start(ctx, "cache.recall")
			child.End()
		}
		root.End()
	}
}
