package telemetry

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/router"
)

// descriptions lists the metrics of a registry as "name{label,label}".
func descriptions(t *testing.T, m *Metrics) []string {
	t.Helper()
	descs := make(chan *prometheus.Desc)
	go func() { m.registry.Describe(descs); close(descs) }()
	form := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	var all []string
	for desc := range descs {
		if found := form.FindStringSubmatch(desc.String()); found != nil && strings.HasPrefix(found[1], "enrichd_") {
			all = append(all, found[1]+"{"+found[2]+"}")
		}
	}
	return all
}

func TestOperatorsFindTheNamesTheyWerePromised(t *testing.T) {
	all := descriptions(t, quietMetrics())
	for _, promised := range []string{
		"requests_total{method,code,account}", "request_seconds{method,source}", "cache_lookups_total{tier,result}",
		"provider_calls_total{provider,outcome}", "provider_call_seconds{provider}", "provider_wait_seconds{provider,lane}",
		"provider_tokens{provider,window}", "provider_paused{provider,reason}", "breaker_state{provider}",
		"retries_total{provider,reason}", "cost_micros_total{provider,account}", "saved_micros_total{}",
		"quota_leases_total{result}", "drift_total{provider,field}", "config_reloads_total{result}",
	} {
		if !slices.Contains(all, "enrichd_"+promised) {
			t.Errorf("no metric enrichd_%s", promised)
		}
	}
}

// traced is the context of a request that is traced.
func traced(t *testing.T) context.Context {
	return trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{0xab}, SpanID: trace.SpanID{1}, TraceFlags: trace.FlagsSampled,
	}))
}

func TestRequestsAreCounted(t *testing.T) {
	m := quietMetrics()
	m.Finished(t.Context(), "Enrich", "OK", "sales", "memory", 3*time.Millisecond)
	m.Finished(t.Context(), "Enrich", "OK", "sales", "vendor", time.Second)
	m.Finished(t.Context(), "Enrich", "ResourceExhausted", "sales", "none", time.Second)
	if got := value(t, m.requests.WithLabelValues("Enrich", "OK", "sales")); got != 2 {
		t.Errorf("OK = %v, want 2", got)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "enrichd_request_seconds" {
			continue
		}
		if got := len(family.GetMetric()); got != 3 {
			t.Errorf("%d series of request_seconds, want one for each source", got)
		}
		return
	}
	t.Error("request_seconds was not gathered")
}

func TestATracedRequestLeavesItsTraceAsExemplar(t *testing.T) {
	m := quietMetrics()
	exemplars := func() (ids []string) {
		families, err := m.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				for _, bucket := range metric.GetHistogram().GetBucket() {
					for _, label := range bucket.GetExemplar().GetLabel() {
						ids = append(ids, label.GetValue())
					}
				}
			}
		}
		return ids
	}
	m.Finished(t.Context(), "Enrich", "OK", "sales", "memory", time.Millisecond)
	if ids := exemplars(); len(ids) != 0 {
		t.Errorf("a request without a trace has exemplars %v", ids)
	}
	m.Finished(traced(t), "Enrich", "OK", "sales", "memory", time.Millisecond)
	if ids := exemplars(); len(ids) != 1 || ids[0] != "ab"+strings.Repeat("0", 30) {
		t.Errorf("exemplars = %v, want the trace's id", ids)
	}
}

func TestAccountsWithoutEndShareASeries(t *testing.T) {
	m := quietMetrics()
	for i := range mostBindings + 100 {
		m.Finished(t.Context(), "Enrich", "OK", strconv.Itoa(i), "memory", 0)
	}
	if got := value(t, m.requests.WithLabelValues("Enrich", "OK", otherAccount)); got != 100 {
		t.Errorf("%v requests of other accounts, want 100", got)
	}
	if got := len(m.bound.known); got != mostBindings {
		t.Errorf("%d sets of labels are kept, want %d", got, mostBindings)
	}
}

// TestAClockThatJumpsDoesNoHarm gives what a jump of the wall clock or a broken
// price could: counters that are told to go back panic.
func TestAClockThatJumpsDoesNoHarm(t *testing.T) {
	m := quietMetrics()
	for _, took := range []time.Duration{-time.Hour, math.MinInt64, math.MaxInt64} {
		m.Finished(t.Context(), "Enrich", "OK", "sales", "memory", took)
		m.Finished(traced(t), "Enrich", "OK", "sales", "memory", took)
		m.Quota().Granted("acme", enrich.Bulk, took)
		m.Router().Called(router.Exchange{Attempt: enrich.Attempt{Provider: "acme", Took: took, Charged: enrich.KnownCharge(-5)}})
	}
	m.Saved(-1)
	if _, err := m.registry.Gather(); err != nil {
		t.Error(err)
	}
}

// BenchmarkFinished is what one request costs in metrics.
func BenchmarkFinished(b *testing.B) {
	m := quietMetrics()
	for b.Loop() {
		m.Finished(b.Context(), "Enrich", "OK", "sales", "memory", 20*time.Microsecond)
	}
}
