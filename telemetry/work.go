package telemetry

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/enrichd/enrichd/enrich"
)

// Work is accepted work, counted a moment ago.
type Work struct {
	Leads      []LeadCount
	Letters    []LetterCount
	Deliveries []DeliveryCount
	Stops      []StopOf
}

// LeadCount is how many leads of a lane are in a state.
type LeadCount struct {
	Lane  enrich.Lane
	State string
	Leads int64
	// Waiting is since when the oldest waits; zero in states that do not wait.
	Waiting time.Time
}

// LetterCount is how many dead letters of a reason are open.
type LetterCount struct {
	Kind    string // "lead" or "delivery"
	Reason  string
	Letters int64
}

// DeliveryCount is how many deliveries to a sink are pending.
type DeliveryCount struct {
	Sink       string
	Deliveries int64
	Oldest     time.Time // zero: there is none
}

// StopOf is a stop of some work.
type StopOf struct{ Scope, Name, Reason string }

// The metrics of accepted work.
var (
	storeUp        = measured("store_up", "1 while accepted work can be counted, 0 while its store cannot be reached.")
	leadsCounted   = measured("leads", "Accepted leads, by lane and state.", "lane", "state")
	leadsWaiting   = measured("lead_oldest_waiting_seconds", "For how long the oldest lead waits that no worker has.", "lane")
	deadLetters    = measured("dead_letters", "Open dead letters, by what was given up and why.", "kind", "reason")
	deliveries     = measured("deliveries_waiting", "Deliveries that are pending.", "sink")
	deliveryOldest = measured("delivery_oldest_waiting_seconds", "For how long the oldest delivery is pending.", "sink")
	workStopped    = measured("work_stopped", "1 while accepted work is stopped, by what of it and why.", "scope", "name", "reason")
)

// workState looks up the metrics of accepted work when Prometheus asks.
type workState struct{ metrics *Metrics }

// Describe lists them.
func (s *workState) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []described{storeUp, leadsCounted, leadsWaiting, deadLetters, deliveries, deliveryOldest, workStopped} {
		descs <- d.desc
	}
}

// Collect looks them up. Without a store there are none; while accepted work
// cannot be counted only that it cannot.
func (s *workState) Collect(metrics chan<- prometheus.Metric) {
	sources := s.metrics.sources.Load()
	if sources == nil || sources.Work == nil {
		return
	}
	to, work := sink(metrics), sources.Work()
	if work == nil {
		to.put(storeUp, 0)
		return
	}
	to.put(storeUp, 1)
	oldest := map[enrich.Lane]time.Time{}
	for _, count := range work.Leads {
		to.put(leadsCounted, float64(count.Leads), string(count.Lane), count.State)
		if at := oldest[count.Lane]; at.IsZero() || !count.Waiting.IsZero() && count.Waiting.Before(at) {
			oldest[count.Lane] = count.Waiting
		}
	}
	for lane, at := range oldest {
		to.put(leadsWaiting, age(at), string(lane))
	}
	for _, count := range work.Letters {
		to.put(deadLetters, float64(count.Letters), count.Kind, count.Reason)
	}
	for _, count := range work.Deliveries {
		to.put(deliveries, float64(count.Deliveries), count.Sink)
		to.put(deliveryOldest, age(count.Oldest), count.Sink)
	}
	for _, stop := range work.Stops {
		to.put(workStopped, 1, stop.Scope, stop.Name, stop.Reason)
	}
}

// age is the seconds since a time; 0 for none.
func age(since time.Time) float64 {
	if since.IsZero() {
		return 0
	}
	return seconds(time.Since(since))
}
