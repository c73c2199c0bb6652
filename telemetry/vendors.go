package telemetry

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/router"
)

// Router returns who counts what the router does.
func (m *Metrics) Router() router.Observer { return routerCounts{metrics: m} }

// Quota returns who counts what the quotas do.
func (m *Metrics) Quota() quota.Observer { return quotaCounts{m} }

type routerCounts struct {
	router.Unobserved // pauses are counted where they are kept, by quota
	metrics           *Metrics
}

// Dropped counts a provider that was not asked.
func (c routerCounts) Dropped(provider, _, reason string) {
	c.metrics.dropped.WithLabelValues(provider, reason).Inc()
}

// Called counts one exchange with a vendor and what it cost.
func (c routerCounts) Called(exchange router.Exchange) {
	c.metrics.providerCalls.WithLabelValues(exchange.Provider, string(exchange.Outcome)).Inc()
	c.metrics.providerSeconds.WithLabelValues(exchange.Provider).Observe(seconds(exchange.Took))
	switch charged := exchange.Charged; {
	case !charged.Known:
		c.metrics.unknownCharges.WithLabelValues(exchange.Provider).Inc()
	case charged.Micros > 0:
		c.metrics.cost.WithLabelValues(exchange.Provider, exchange.Account).Add(float64(charged.Micros))
	}
}

// Retried counts a repeated call.
func (c routerCounts) Retried(provider, reason string) {
	c.metrics.retries.WithLabelValues(provider, reason).Inc()
}

// BreakerChanged counts a change of a breaker.
func (c routerCounts) BreakerChanged(provider string, state router.BreakerState) {
	c.metrics.breakerChanges.WithLabelValues(provider, string(state)).Inc()
}

// Drifted counts a field that is not what it was.
func (c routerCounts) Drifted(provider string, a enrich.Attribute) {
	c.metrics.drift.WithLabelValues(provider, string(a)).Inc()
}

type quotaCounts struct{ metrics *Metrics }

// Granted counts a wait for a token that was worth it.
func (c quotaCounts) Granted(provider string, lane enrich.Lane, waited time.Duration) {
	c.metrics.providerWait.WithLabelValues(provider, string(lane)).Observe(seconds(waited))
}

// Refused counts a call that may not begin.
func (c quotaCounts) Refused(provider string, lane enrich.Lane, reason string) {
	c.metrics.refusals.WithLabelValues(provider, string(lane), reason).Inc()
}

// Paused counts a pause that begins.
func (c quotaCounts) Paused(provider string, reason enrich.PauseReason, _ time.Time) {
	if reason != "" {
		c.metrics.pauses.WithLabelValues(provider, string(reason)).Inc()
	}
}

// Surprised counts a refusal that the account did not foresee.
func (c quotaCounts) Surprised(provider string) { c.metrics.surprises.WithLabelValues(provider).Inc() }

// Leased counts a booking ahead.
func (c quotaCounts) Leased(_, result string) { c.metrics.leases.WithLabelValues(result).Inc() }
