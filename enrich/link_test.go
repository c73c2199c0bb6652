package enrich

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestAWaitingCallerLinksToTheFlightItShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := tracetest.NewSpanRecorder()
		spans := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		first, pilot := spans.Start(ctx, "pilot")
		second, waiter := spans.Start(ctx, "waiter")
		var shared flights
		defer func() { _ = shared.close(ctx) }()
		look := func(context.Context, *flight) Found { time.Sleep(time.Second); return Found{} }
		go func() { _, _, _ = shared.join(first, "key", Interactive, look) }()
		synctest.Wait()
		if _, joined, err := shared.join(second, "key", Interactive, look); !joined || err != nil {
			t.Fatalf("joined = %t, %v", joined, err)
		}
		pilot.End()
		waiter.End()
		for _, span := range recorder.Ended() {
			links := span.Links()
			switch {
			case span.Name() == "pilot" && len(links) != 0:
				t.Errorf("who began the flight has links: %v", links)
			case span.Name() == "waiter" && (len(links) != 1 || !links[0].SpanContext.Equal(pilot.SpanContext())):
				t.Errorf("the waiter's links = %v, want the pilot's span", links)
			}
		}
	})
}
