package telemetry

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/enrichd/enrichd/cache"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
)

func TestWhatRouterAndQuotaTellIsCounted(t *testing.T) {
	m := quietMetrics()
	routes, quotas := m.Router(), m.Quota()
	routes.Called(router.Exchange{Attempt: enrich.Attempt{Provider: "acme", Outcome: enrich.RateLimited, Took: time.Second, Charged: enrich.KnownCharge(0)}, Account: "sales"})
	routes.Called(router.Exchange{Attempt: enrich.Attempt{Provider: "acme", Outcome: enrich.Hit, Took: time.Second, Charged: enrich.KnownCharge(2500)}, Account: "sales"})
	routes.Called(router.Exchange{Attempt: enrich.Attempt{Provider: "acme", Outcome: enrich.Timeout, Took: time.Second}, Account: "sales"})
	routes.Dropped("acme", "person", enrich.ReasonPaused)
	routes.Retried("acme", "rate_limited")
	routes.BreakerChanged("acme", router.BreakerOpen)
	routes.Drifted("acme", "person.title")
	quotas.Granted("acme", enrich.Bulk, time.Second)
	quotas.Refused("acme", enrich.Bulk, enrich.ReasonNoToken)
	quotas.Paused("acme", enrich.PausedByHint, time.Time{})
	quotas.Paused("acme", "", time.Time{}) // the end of the pause
	quotas.Surprised("acme")
	quotas.Leased("acme", "granted")
	for _, want := range []struct {
		name  string
		is    prometheus.Collector
		value float64
	}{
		{"refused calls", m.providerCalls.WithLabelValues("acme", "rate_limited"), 1},
		{"cost", m.cost.WithLabelValues("acme", "sales"), 2500},
		{"unknown charges", m.unknownCharges.WithLabelValues("acme"), 1},
		{"dropped", m.dropped.WithLabelValues("acme", "paused"), 1},
		{"retries", m.retries.WithLabelValues("acme", "rate_limited"), 1},
		{"breaker changes", m.breakerChanges.WithLabelValues("acme", "open"), 1},
		{"drift", m.drift.WithLabelValues("acme", "person.title"), 1},
		{"refusals", m.refusals.WithLabelValues("acme", "bulk", "no_token"), 1},
		{"pauses", m.pauses.WithLabelValues("acme", "retry_after"), 1},
		{"surprises", m.surprises.WithLabelValues("acme"), 1},
		{"leases", m.leases.WithLabelValues("granted"), 1},
	} {
		if got := value(t, want.is); got != want.value {
			t.Errorf("%s = %v, want %v", want.name, got, want.value)
		}
	}
}

func TestWhatIsAskedWhenPrometheusAsks(t *testing.T) {
	m := quietMetrics()
	m.Watch(Sources{
		Cache: func() cache.Stats {
			return cache.Stats{MemoryHits: 5, RedisHits: 3, Misses: 2, Refused: map[cache.Refusal]uint64{cache.RefusedDamaged: 1}}
		},
		Quota: func() []quota.State {
			return []quota.State{{
				Provider: "acme", Limits: []quota.Level{{Name: "day", Left: 40, Amount: 100}}, Running: 2, Alone: time.Unix(1, 0),
				Pause: quota.Pause{Reason: enrich.PausedByQuota}, Waiting: map[enrich.Lane]int{enrich.Bulk: 7},
			}}
		},
		Routes: func() []router.Health {
			return []router.Health{{Provider: "acme", Breaker: router.BreakerOpen, HitRate: .25}}
		},
		StateFailures: func() uint64 { return 9 },
		Shadows: func() []enrich.Comparison {
			return []enrich.Comparison{{Account: "sales", Plan: "new", Attribute: "person.title", Difference: enrich.OnlyNew, Count: 6}}
		},
		Privacy: func() Privacy {
			return Privacy{Suppressed: 11, Owed: map[string]int{"redis": 12}, Audited: 13, Unaudited: 14}
		},
		Repeats: func() Repeats { return Repeats{Repeated: 15, Reused: 16, TooLarge: 17} },
	})
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			got[name] = metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
		}
	}
	for name, want := range map[string]float64{
		"enrichd_cache_lookups_total hit memory": 5, "enrichd_cache_lookups_total miss memory": 5,
		"enrichd_cache_lookups_total hit redis": 3, "enrichd_cache_lookups_total miss redis": 2,
		"enrichd_cache_refused_total damaged":                              1,
		"enrichd_provider_tokens acme day":                                 40,
		"enrichd_provider_limit acme day":                                  100,
		"enrichd_provider_paused acme quota_exhausted":                     1,
		"enrichd_provider_waiting bulk acme":                               7,
		"enrichd_provider_running acme":                                    2,
		"enrichd_provider_alone acme":                                      1,
		"enrichd_provider_hit_ratio acme":                                  .25,
		"enrichd_breaker_state acme":                                       2,
		"enrichd_state_file_failures_total":                                9,
		"enrichd_shadow_comparisons_total sales person.title only_new new": 6,
		"enrichd_suppressed_tags":                                          11,
		"enrichd_suppressions_owed redis":                                  12,
		"enrichd_audit_entries_total written":                              13,
		"enrichd_audit_entries_total dropped":                              14,
		"enrichd_repeats_total repeated":                                   15,
		"enrichd_repeats_total reused":                                     16,
		"enrichd_repeats_total too_large":                                  17,
	} {
		if value, there := got[name]; !there || value != want {
			t.Errorf("%s = %v (there: %t), want %v", name, value, there, want)
		}
	}
}
