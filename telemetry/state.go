package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
)

// Sources are asked when Prometheus asks. They are called from any goroutine
// and must not wait; those that are nil are left out.
type Sources struct {
	Cache  func() cache.Stats
	Quota  func() []quota.State
	Routes func() []router.Health
	// StateFailures is how often the file of quotas could not be written.
	StateFailures func() uint64
	// Work is accepted work; nil: there is no store. Its nil result: it cannot be
	// counted.
	Work func() *Work
	// Shadows are the comparisons of shadow plans so far.
	Shadows func() []enrich.Comparison
	Privacy func() Privacy
	Repeats func() Repeats
}

// Privacy is the state of the suppression list and of the audit log.
type Privacy struct {
	Suppressed int            // tags on the list
	Owed       map[string]int // changes of it that a copy has yet to be told, by the copy
	Audited    int64          // entries of the audit log that were written
	Unaudited  int64          // those that were lost
}

// Repeats counts requests that came with an idempotency key.
type Repeats struct {
	Repeated int64 // were given the answer of an earlier one
	Reused   int64 // were refused, for the key is another one's
	TooLarge int64 // had an answer too large to be kept
}

// Watch has the sources asked from now on, instead of earlier ones.
func (m *Metrics) Watch(sources Sources) { m.sources.Store(&sources) }

// breakerStates are the numbers of breaker_state.
var breakerStates = map[router.BreakerState]float64{router.BreakerClosed: 0, router.BreakerHalfOpen: 1, router.BreakerOpen: 2}

// described is a metric whose value is looked up when it is asked for.
type described struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func counted(name, help string, labels ...string) described {
	return described{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), prometheus.CounterValue}
}

func measured(name, help string, labels ...string) described {
	return described{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), prometheus.GaugeValue}
}

// The metrics that are looked up.
var (
	cacheLookups  = counted("cache_lookups_total", "Recalls by tier and whether it knew.", "tier", "result")
	cacheFailures = counted("cache_redis_failures_total", "Calls to the cache's Redis that failed or were not tried because it is away.")
	cacheGaps     = counted("cache_gaps_total", "Times that messages of other replicas may have been lost.")
	cacheLeases   = counted("cache_leases_total", "Subjects that this replica alone might ask vendors about, and those without that right.", "result")
	cacheWaiting  = measured("cache_writes_waiting", "Writes that Redis has yet to be told.")
	cacheLost     = counted("cache_writes_lost_total", "Writes to Redis that were given up.")
	cacheRefused  = counted("cache_refused_total", "Values under our keys that are no entries, by why.", "reason")
	cacheTurned   = counted("cache_memory_refusals_total", "Entries that memory did not take, by why.", "reason")
	cacheBytes    = measured("cache_memory_bytes", "What the memory tier is taken to hold.")

	providerTokens  = measured("provider_tokens", "What is left of a provider's limit.", "provider", "window")
	providerLimit   = measured("provider_limit", "What a provider's limit allows.", "provider", "window")
	providerPaused  = measured("provider_paused", "1 while a provider may not be called at all, by why.", "provider", "reason")
	providerWaiting = measured("provider_waiting", "Calls that wait for a token.", "provider", "lane")
	providerRunning = measured("provider_running", "Calls under way.", "provider")
	providerAlone   = measured("provider_alone", "1 while this replica keeps a provider's quota without the Redis it is shared through.", "provider")
	providerHits    = measured("provider_hit_ratio", "Learned share of wanted attributes that a provider knows.", "provider")
	breakerState    = measured("breaker_state", "A provider's breaker: 0 closed, 1 half-open, 2 open.", "provider")
	stateFailures   = counted("state_file_failures_total", "Times that the file of quotas could not be written.")

	shadowed    = counted("shadow_comparisons_total", "Attributes that a shadow plan was asked for, by how it did beside the account's own plan.", "account", "plan", "attribute", "difference")
	suppressed  = measured("suppressed_tags", "Tags on the suppression list; an address with aliases has two.")
	owedChanges = measured("suppressions_owed", "Changes of the suppression list that a copy has yet to be told.", "copy")
	audited     = counted("audit_entries_total", "Entries of the audit log, by what became of them.", "result")
	repeats     = counted("repeats_total", "Requests under an idempotency key: repeated, refused as reused, or answered at a length that is not kept.", "result")

	logLines   = counted("log_lines_total", "Lines logged, by level.", "level")
	logLost    = counted("log_lines_lost_total", "Lines that could not be written.")
	clockPuts  = counted("clock_jumps_total", "Times that the machine's clock was put forward or back by a second or more.")
	traceSpans = counted("trace_spans_total", "Spans of traced requests, by what became of them.", "result")
)

// state looks up metrics when Prometheus asks.
type state struct {
	metrics *Metrics
	log     *lines
}

// Describe lists the metrics that are looked up.
func (s *state) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []described{
		cacheLookups, cacheFailures, cacheGaps, cacheLeases, cacheWaiting, cacheLost, cacheRefused, cacheTurned, cacheBytes,
		providerTokens, providerLimit, providerPaused, providerWaiting, providerRunning, providerAlone, providerHits, breakerState, stateFailures,
		shadowed, suppressed, owedChanges, audited, repeats,
		logLines, logLost, clockPuts, traceSpans,
	} {
		descs <- d.desc
	}
}

// sink takes looked-up values.
type sink chan<- prometheus.Metric

func (s sink) put(d described, value float64, labels ...string) {
	s <- prometheus.MustNewConstMetric(d.desc, d.kind, value, labels...)
}

// Collect looks the metrics up.
func (s *state) Collect(metrics chan<- prometheus.Metric) {
	to := sink(metrics)
	to.put(logLines, float64(s.log.warnings.Load()), "warn")
	to.put(logLines, float64(s.log.errors.Load()), "error")
	to.put(logLost, float64(s.log.lost.Load()))
	to.put(clockPuts, float64(s.metrics.clockJumps.Load()))
	spans := s.metrics.spans
	to.put(traceSpans, float64(spans.ended.Load()), "ended")
	to.put(traceSpans, float64(spans.sent.Load()), "sent")
	to.put(traceSpans, float64(spans.failed.Load()), "failed")

	sources := s.metrics.sources.Load()
	if sources == nil {
		return
	}
	if sources.Cache != nil {
		to.cache(sources.Cache())
	}
	if sources.Quota != nil {
		for _, provider := range sources.Quota() {
			to.quota(provider)
		}
	}
	if sources.Routes != nil {
		for _, route := range sources.Routes() {
			to.put(breakerState, breakerStates[route.Breaker], route.Provider)
			to.put(providerHits, route.HitRate, route.Provider)
		}
	}
	if sources.StateFailures != nil {
		to.put(stateFailures, float64(sources.StateFailures()))
	}
	if sources.Shadows != nil {
		for _, of := range sources.Shadows() {
			to.put(shadowed, float64(of.Count), of.Account, of.Plan, string(of.Attribute), string(of.Difference))
		}
	}
	if sources.Privacy != nil {
		to.privacy(sources.Privacy())
	}
	if sources.Repeats != nil {
		counts := sources.Repeats()
		to.put(repeats, float64(counts.Repeated), "repeated")
		to.put(repeats, float64(counts.Reused), "reused")
		to.put(repeats, float64(counts.TooLarge), "too_large")
	}
}

func (s sink) privacy(of Privacy) {
	s.put(suppressed, float64(of.Suppressed))
	for name, changes := range of.Owed {
		s.put(owedChanges, float64(changes), name)
	}
	s.put(audited, float64(of.Audited), "written")
	s.put(audited, float64(of.Unaudited), "dropped")
}

func (s sink) cache(stats cache.Stats) {
	s.put(cacheLookups, float64(stats.MemoryHits), string(enrich.MemoryTier), "hit")
	s.put(cacheLookups, float64(stats.RedisHits+stats.Misses), string(enrich.MemoryTier), "miss")
	s.put(cacheLookups, float64(stats.RedisHits), string(enrich.RedisTier), "hit")
	s.put(cacheLookups, float64(stats.Misses), string(enrich.RedisTier), "miss")
	s.put(cacheFailures, float64(stats.RedisFailures))
	s.put(cacheGaps, float64(stats.Gaps))
	s.put(cacheLeases, float64(stats.Leased), "leased")
	s.put(cacheLeases, float64(stats.Unleased), "without")
	s.put(cacheWaiting, float64(stats.Waiting))
	s.put(cacheLost, float64(stats.Lost))
	for reason, count := range stats.Refused {
		s.put(cacheRefused, float64(count), string(reason))
	}
	s.put(cacheTurned, float64(stats.MemoryDropped), "dropped")
	s.put(cacheTurned, float64(stats.MemoryRejected), "rejected")
	s.put(cacheBytes, float64(stats.MemoryBytes))
}

func (s sink) quota(provider quota.State) {
	for _, level := range provider.Limits {
		s.put(providerTokens, float64(level.Left), provider.Provider, level.Name)
		s.put(providerLimit, float64(level.Amount), provider.Provider, level.Name)
	}
	if provider.Pause.Reason != "" {
		s.put(providerPaused, 1, provider.Provider, string(provider.Pause.Reason))
	}
	for lane, waiting := range provider.Waiting {
		s.put(providerWaiting, float64(waiting), provider.Provider, string(lane))
	}
	s.put(providerRunning, float64(provider.Running), provider.Provider)
	alone := 0.0
	if !provider.Alone.IsZero() {
		alone = 1
	}
	s.put(providerAlone, alone, provider.Provider)
}
