package providers

import (
	"testing"

	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/enrich"
)

// TestVendorsLearnTheTraceOnlyWhereConfigured asks a vendor for traced and
// untraced requests.
func TestVendorsLearnTheTraceOnlyWhereConfigured(t *testing.T) {
	state, err := trace.ParseTraceState("caller=internal")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		configured bool
		flags      trace.TraceFlags
		want       string
	}{
		"traced":         {true, trace.FlagsSampled, "00-0102030405060708090a0b0c0d0e0f10-0102030405060708-01"},
		"untraced":       {true, 0, ""},
		"not configured": {false, trace.FlagsSampled, ""},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t, answerWith(200, anna))
			vendor := vendorAt(t, fake.URL, rules+"calls: {person: {asks: email, request: {path: /p}"+flow(mapping), func(c *ProviderConfig) { c.TraceContext = test.configured })
			ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, SpanID: trace.SpanID{1, 2, 3, 4, 5, 6, 7, 8},
				TraceFlags: test.flags, TraceState: state,
			}))
			if reply := vendor.Lookup(ctx, person(t, "person.full_name")); reply.Outcome != enrich.Hit {
				t.Fatal(reply.Outcome, reply.Err)
			}
			header := fake.calls()[0].request.Header
			if got := header.Get("traceparent"); got != test.want || header.Get("tracestate") != "" {
				t.Errorf("traceparent %q, want %q; tracestate %q", got, test.want, header.Get("tracestate"))
			}
		})
	}
}
