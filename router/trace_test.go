package router

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/enrichd/enrichd/enrich"
)

// spanText writes a span as "provider.call provider=acme outcome=hit".
func spanText(span sdktrace.ReadOnlySpan) string {
	words := []string{span.Name()}
	for _, attribute := range span.Attributes() {
		words = append(words, string(attribute.Key)+"="+attribute.Value.AsString())
	}
	for _, event := range span.Events() {
		words = append(words, event.Name)
		for _, attribute := range event.Attributes {
			words = append(words, string(attribute.Key)+"="+attribute.Value.AsString())
		}
	}
	return strings.Join(words, " ")
}

func TestSpansTellWhoWasAskedWithoutTheAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		before := tracer
		tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("router")
		defer func() { tracer = before }()

		keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil, "cogs": nil})
		r := newRouter(t, Parts{
			Providers: []Provider{asked("acme", scriptedVendor("acme", "hit in 3s")), asked("bolt", scriptedVendor("bolt", "miss")), asked("cogs", scriptedVendor("cogs", "hit"))},
			Quota:     keeper,
		})
		keeper.Pause("cogs", time.Time{}, enrich.PausedByOperator)
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		r.Find(ctx, titleAsk(t, "anna", "acme", "bolt", "cogs"))
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}

		var told []string
		for _, span := range spans.Ended() {
			told = append(told, spanText(span))
			if text := fmt.Sprintf("%+v", span); strings.Contains(text, "anna") || strings.Contains(text, "example") {
				t.Errorf("span %s holds the address: %s", span.Name(), text)
			}
		}
		want := []string{
			"router.plan provider=acme operation=person dropped provider=cogs operation=person reason=paused",
			"quota.wait provider=acme operation=person",
			"router.plan provider=bolt operation=person dropped provider=cogs operation=person reason=paused",
			"quota.wait provider=bolt operation=person",
			"provider.call provider=bolt operation=person outcome=miss",
			"router.plan provider=acme operation=person dropped provider=cogs operation=person reason=paused",
			"router.plan dropped provider=acme operation=person reason=in_flight dropped provider=cogs operation=person reason=out_of_time",
			"provider.call provider=acme operation=person outcome=hit",
		}
		if !slices.Equal(told, want) {
			t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
		}
	})
}

func TestSpanOfAVainWaitTellsWhy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spans := tracetest.NewSpanRecorder()
		before := tracer
		tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("router")
		defer func() { tracer = before }()

		r := newRouter(t, Parts{
			Providers: []Provider{asked("acme", scriptedVendor("acme", "hit"))},
			Quota:     newQuota(t, map[string][]enrich.Limit{"acme": {bucket(1, 10*time.Second)}}),
		})
		r.Find(t.Context(), titleAsk(t, "anna", "acme"))
		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		r.Find(leaving, titleAsk(t, "ben", "acme"))
		var told []string
		for _, span := range spans.Ended() {
			told = append(told, spanText(span))
		}
		if !slices.Contains(told, "quota.wait provider=acme operation=person reason=no_token") {
			t.Errorf("no span tells why the wait was in vain:\n%s", strings.Join(told, "\n"))
		}
	})
}
