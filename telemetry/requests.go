package telemetry

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// namespace begins the name of every metric of ours.
const namespace = "enrichd"

// mostBindings is how many sets of labels requests may have. Sets beyond it are
// counted for the account "other": memory stays bounded whatever is configured.
const mostBindings = 10_000

// otherAccount stands for the accounts that have no series of their own.
const otherAccount = "other"

// requestLabels are what a request is counted under.
type requestLabels struct{ method, code, account, source string }

// requestSeries are the metrics of one set of labels.
type requestSeries struct {
	count prometheus.Counter
	took  prometheus.Observer
}

// bindings finds the series of a request, which are bound once.
type bindings struct {
	mu    sync.RWMutex
	known map[requestLabels]requestSeries
}

func (m *Metrics) series(labels requestLabels) requestSeries {
	m.bound.mu.RLock()
	series, ok := m.bound.known[labels]
	m.bound.mu.RUnlock()
	if ok {
		return series
	}
	m.bound.mu.Lock()
	defer m.bound.mu.Unlock()
	if len(m.bound.known) >= mostBindings {
		labels.account = otherAccount
		return m.bind(labels)
	}
	series = m.bind(labels)
	m.bound.known[labels] = series
	return series
}

func (m *Metrics) bind(labels requestLabels) requestSeries {
	return requestSeries{
		count: m.requests.WithLabelValues(labels.method, labels.code, labels.account),
		took:  m.requestSeconds.WithLabelValues(labels.method, labels.source),
	}
}

// Finished counts one request that was answered: the contract's method, the
// code of the answer, whose request it was ("" before anybody is known), where
// its facts came from, and the time it took. A traced request leaves its trace
// id as the exemplar of its time.
func (m *Metrics) Finished(ctx context.Context, method, code, account, source string, took time.Duration) {
	series := m.series(requestLabels{method: method, code: code, account: account, source: source})
	series.count.Inc()
	span := trace.SpanContextFromContext(ctx)
	if exemplary, can := series.took.(prometheus.ExemplarObserver); can && span.IsSampled() {
		exemplary.ObserveWithExemplar(seconds(took), prometheus.Labels{"trace_id": span.TraceID().String()})
		return
	}
	series.took.Observe(seconds(took))
}
