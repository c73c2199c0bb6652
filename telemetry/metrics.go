package telemetry

import (
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/enrichd/enrichd/enrich"
)

// requestBuckets of answers' times, in seconds: memory answers in microseconds,
// a walk of providers may take the whole retry budget.
var requestBuckets = []float64{.0002, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// vendorBuckets of vendors' times and of waits for them, in seconds.
var vendorBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

// Metrics counts what happens. All its label values come from configuration,
// the contract and fixed lists of words. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry
	sources  atomic.Pointer[Sources]
	spans    *spans

	clockJumps atomic.Uint64

	requests       *prometheus.CounterVec
	requestSeconds *prometheus.HistogramVec
	bound          bindings

	providerCalls   *prometheus.CounterVec
	providerSeconds *prometheus.HistogramVec
	providerWait    *prometheus.HistogramVec
	dropped         *prometheus.CounterVec
	retries         *prometheus.CounterVec
	breakerChanges  *prometheus.CounterVec
	cost            *prometheus.CounterVec
	unknownCharges  *prometheus.CounterVec
	saved           prometheus.Counter
	drift           *prometheus.CounterVec
	refusals        *prometheus.CounterVec
	pauses          *prometheus.CounterVec
	surprises       *prometheus.CounterVec
	leases          *prometheus.CounterVec
	events          *prometheus.CounterVec
	digests         *prometheus.CounterVec
	reloads         *prometheus.CounterVec
}

func newMetrics(log *slog.Logger) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), spans: &spans{}, bound: bindings{known: map[requestLabels]requestSeries{}}}
	m.requests = m.counters("requests_total", "Requests answered, by method, code and account.", "method", "code", "account")
	m.requestSeconds = m.histograms("request_seconds", "Time to answer a request, by where its facts came from.", requestBuckets, "method", "source")
	m.providerCalls = m.counters("provider_calls_total", "Exchanges with vendors, by what came of them.", "provider", "outcome")
	m.providerSeconds = m.histograms("provider_call_seconds", "Time that exchanges with vendors took.", vendorBuckets, "provider")
	m.providerWait = m.histograms("provider_wait_seconds", "Time that calls waited for a token.", vendorBuckets, "provider", "lane")
	m.dropped = m.counters("provider_dropped_total", "Providers that could have known and were not asked, by why.", "provider", "reason")
	m.retries = m.counters("retries_total", "Calls that were repeated, by why.", "provider", "reason")
	m.breakerChanges = m.counters("breaker_changes_total", "Changes of a provider's breaker, by the state it went to.", "provider", "state")
	m.cost = m.counters("cost_micros_total", "Money charged by vendors, in micros, by whose request it was.", "provider", "account")
	m.unknownCharges = m.counters("unknown_charges_total", "Calls of which nobody knows what they cost.", "provider")
	m.saved = m.counter("saved_micros_total", "Money that recalled facts once cost, in micros.")
	m.drift = m.counters("drift_total", "Mapped fields of vendors' answers that vanished or changed their type.", "provider", "field")
	m.refusals = m.counters("quota_refusals_total", "Calls that found no token in time, by lane and why.", "provider", "lane", "reason")
	m.pauses = m.counters("provider_pauses_total", "Pauses begun, by why.", "provider", "reason")
	m.surprises = m.counters("quota_surprises_total", "Calls that the vendor refused although its account allowed them.", "provider")
	m.events = m.counters("events_total", "Events of captured leads, by what became of each: accepted, repeated, or why it was refused.", "result")
	m.digests = m.counters("digests_total", "Attempts to send the digest of a day, by what came of them.", "result")
	m.leases = m.counters("quota_leases_total", "Bookings of calls ahead of the shared account, by what came of them.", "result")
	m.reloads = m.counters("config_reloads_total", "Times that the configuration was read again, by what came of it.", "result")
	for _, result := range []Reload{ReloadApplied, ReloadUnchanged, ReloadRefused} {
		m.reloads.WithLabelValues(string(result)) // so that the first one is seen as an increase
	}

	m.registry.MustRegister(
		&state{metrics: m, log: linesOf(log)},
		&workState{metrics: m},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		buildInfo(),
	)
	return m
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	counter := prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(counter)
	return counter
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(vec)
	return vec
}

// Saved counts money, in micros, that recalled facts once cost.
func (m *Metrics) Saved(micros enrich.Micros) {
	if micros > 0 {
		m.saved.Add(float64(micros))
	}
}

// Reload is what came of reading the configuration again.
type Reload string

// The results of a reload, for logs and metrics.
const (
	ReloadApplied   Reload = "applied"
	ReloadUnchanged Reload = "unchanged"
	ReloadRefused   Reload = "refused"
)

// Reloaded counts that the configuration was read again.
func (m *Metrics) Reloaded(result Reload) { m.reloads.WithLabelValues(string(result)).Inc() }

// Event counts an event that came in, by what became of it.
func (m *Metrics) Event(result string) { m.events.WithLabelValues(result).Inc() }

// seconds of a time that was taken. A clock that jumped can make it negative.
func seconds(took time.Duration) float64 { return math.Max(0, took.Seconds()) }

// Digest counts an attempt to send the digest of a day.
func (m *Metrics) Digest(err error) {
	result := "sent"
	if err != nil {
		result = "failed"
	}
	m.digests.WithLabelValues(result).Inc()
}

// version of the program, as the Go tool recorded it.
type version struct{ version, revision string }

func readVersion() version {
	read := version{version: "(devel)"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return read
	}
	if info.Main.Version != "" {
		read.version = info.Main.Version
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			read.revision = setting.Value
		}
	}
	return read
}

func buildInfo() prometheus.Collector {
	built := readVersion()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: namespace, Name: "build_info", Help: "Which program this is; always 1.",
		ConstLabels: prometheus.Labels{"version": built.version, "revision": built.revision, "go": runtime.Version()},
	}, func() float64 { return 1 })
}
