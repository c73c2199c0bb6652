package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Spans wait in a queue of this length until they are sent, at the latest after
// exportEvery. Those that find it full are dropped.
const (
	queuedSpans = 2048
	exportEvery = 2 * time.Second
)

// traces sends spans to a collector; nil: none are made.
type traces struct {
	provider *sdktrace.TracerProvider
	timeout  time.Duration
}

// startTraces makes the tracers of the process send their spans to the
// collector. It does not wait for one that cannot be reached.
func startTraces(config TracesConfig, counts *spans, log *slog.Logger) (*traces, error) {
	if config.Endpoint == "" {
		otel.SetTracerProvider(&lean{sdk: noop.NewTracerProvider()}) // the usual one makes spans to no purpose
		return nil, nil
	}
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	exporter, err := otlptrace.New(context.Background(), client)
	if err != nil {
		return nil, err
	}
	watched := &watchedExporter{SpanExporter: exporter, counts: counts, log: log}
	batches := sdktrace.NewBatchSpanProcessor(watched,
		sdktrace.WithMaxQueueSize(queuedSpans), sdktrace.WithBatchTimeout(exportEvery), sdktrace.WithExportTimeout(config.Timeout))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.AlwaysSample()), // lean has decided before
		sdktrace.WithSpanProcessor(&countedProcessor{SpanProcessor: batches, counts: counts}),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "enrichd"), attribute.String("service.version", readVersion().version))),
	)
	otel.SetTracerProvider(&lean{sdk: provider, sample: config.Sample})
	otel.SetTextMapPropagator(propagation.TraceContext{})
	return &traces{provider: provider, timeout: config.Timeout}, nil
}

// newClient speaks the protocol that the endpoint's scheme names. Nothing is
// sent again: what a collector did not take in time would only be in the way of
// newer spans.
func newClient(config TracesConfig) (otlptrace.Client, error) {
	endpoint, err := url.Parse(config.Endpoint)
	if err != nil {
		return nil, err
	}
	scheme, known := schemes[endpoint.Scheme]
	switch {
	case !known:
		return nil, fmt.Errorf("unknown scheme %q", endpoint.Scheme)
	case scheme.grpc:
		options := []otlptracegrpc.Option{
			otlptracegrpc.WithEndpoint(endpoint.Host), otlptracegrpc.WithHeaders(config.Headers), otlptracegrpc.WithTimeout(config.Timeout),
			otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{}),
		}
		if !scheme.secure {
			options = append(options, otlptracegrpc.WithInsecure())
		}
		return otlptracegrpc.NewClient(options...), nil
	default:
		options := []otlptracehttp.Option{
			otlptracehttp.WithEndpoint(endpoint.Host), otlptracehttp.WithHeaders(config.Headers), otlptracehttp.WithTimeout(config.Timeout),
			otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}),
		}
		if !scheme.secure {
			options = append(options, otlptracehttp.WithInsecure())
		}
		if endpoint.Path != "" && endpoint.Path != "/" {
			options = append(options, otlptracehttp.WithURLPath(endpoint.Path))
		}
		return otlptracehttp.NewClient(options...), nil
	}
}

// close sends what is left, for the time of one export at most.
func (t *traces) close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // what it could not send is counted
}

// spans counts what became of the spans that were made.
type spans struct{ ended, sent, failed atomic.Uint64 }

// countedProcessor counts spans before the queue, which may drop them.
type countedProcessor struct {
	sdktrace.SpanProcessor
	counts *spans
}

// OnEnd takes a span that has ended.
func (p *countedProcessor) OnEnd(span sdktrace.ReadOnlySpan) {
	p.counts.ended.Add(1)
	p.SpanProcessor.OnEnd(span)
}

// watchedExporter counts what could not be sent, and says so once until
// something can be sent again. The queue calls it from one goroutine.
type watchedExporter struct {
	sdktrace.SpanExporter
	counts *spans
	log    *slog.Logger
	away   bool
}

// ExportSpans sends spans. It returns nil always: a failure is told of here.
func (e *watchedExporter) ExportSpans(ctx context.Context, batch []sdktrace.ReadOnlySpan) error {
	switch err := e.SpanExporter.ExportSpans(ctx, batch); {
	case err != nil:
		e.counts.failed.Add(uint64(len(batch)))
		if !e.away {
			e.log.Warn("the trace collector cannot be reached: spans are dropped until it can", "error", err)
		}
		e.away = true
	default:
		e.counts.sent.Add(uint64(len(batch)))
		if e.away {
			e.log.Info("the trace collector takes spans again")
		}
		e.away = false
	}
	return nil
}
