package enrich

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

func TestSpansTellTheStoryWithoutTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		usual := tracer
		tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
		defer func() { tracer = usual }()
		service, _ := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		if _, err := service.Enrich(t.Context(), Request{Email: "jane.doe@acme.example@"}); err == nil {
			t.Fatal("no error")
		}
		var names []string
		for _, span := range spans.Ended() {
			names = append(names, span.Name())
			if text := fmt.Sprintf("%+v", span); strings.Contains(text, "jane") || strings.Contains(text, "acme") {
				t.Errorf("span %s holds the address: %s", span.Name(), text)
			}
		}
		if got, want := strings.Join(names, " "), "normalize cache.recall cache.remember enrich normalize enrich"; got != want {
			t.Errorf("spans = %s, want %s", got, want)
		}
	})
}
