package telemetry

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/enrichd/enrichd/enrich"
)

func TestAcceptedWorkIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := quietMetrics()
		state := &workState{metrics: m}
		if count := testutil.CollectAndCount(state); count != 0 {
			t.Errorf("%d metrics of no work", count)
		}
		var work *Work
		m.Watch(Sources{Work: func() *Work { return work }})
		away := `
# HELP enrichd_store_up 1 while accepted work can be counted, 0 while its store cannot be reached.
# TYPE enrichd_store_up gauge
enrichd_store_up 0
`
		if err := testutil.CollectAndCompare(state, strings.NewReader(away)); err != nil {
			t.Errorf("while it cannot be counted: %v", err)
		}
		work = &Work{
			Leads: []LeadCount{
				{Lane: enrich.Bulk, State: "none", Leads: 7, Waiting: time.Now().Add(-time.Minute)}, {Lane: enrich.Bulk, State: "done", Leads: 9},
				{Lane: enrich.Standard, State: "none"},
			},
			Letters:    []LetterCount{{"lead", "unavailable", 3}},
			Deliveries: []DeliveryCount{{Sink: "crm", Deliveries: 2, Oldest: time.Now().Add(-time.Hour)}, {Sink: "archive"}},
			Stops:      []StopOf{{"lane", "bulk", "operator"}},
		}
		want := `
# HELP enrichd_dead_letters Open dead letters, by what was given up and why.
# TYPE enrichd_dead_letters gauge
enrichd_dead_letters{kind="lead",reason="unavailable"} 3
# HELP enrichd_deliveries_waiting Deliveries that are pending.
# TYPE enrichd_deliveries_waiting gauge
enrichd_deliveries_waiting{sink="archive"} 0
enrichd_deliveries_waiting{sink="crm"} 2
# HELP enrichd_delivery_oldest_waiting_seconds For how long the oldest delivery is pending.
# TYPE enrichd_delivery_oldest_waiting_seconds gauge
enrichd_delivery_oldest_waiting_seconds{sink="archive"} 0
enrichd_delivery_oldest_waiting_seconds{sink="crm"} 3600
# HELP enrichd_lead_oldest_waiting_seconds For how long the oldest lead waits that no worker has.
# TYPE enrichd_lead_oldest_waiting_seconds gauge
enrichd_lead_oldest_waiting_seconds{lane="bulk"} 60
enrichd_lead_oldest_waiting_seconds{lane="standard"} 0
# HELP enrichd_leads Accepted leads, by lane and state.
# TYPE enrichd_leads gauge
enrichd_leads{lane="bulk",state="done"} 9
enrichd_leads{lane="bulk",state="none"} 7
enrichd_leads{lane="standard",state="none"} 0
# HELP enrichd_store_up 1 while accepted work can be counted, 0 while its store cannot be reached.
# TYPE enrichd_store_up gauge
enrichd_store_up 1
# HELP enrichd_work_stopped 1 while accepted work is stopped, by what of it and why.
# TYPE enrichd_work_stopped gauge
enrichd_work_stopped{name="bulk",reason="operator",scope="lane"} 1
`
		if err := testutil.CollectAndCompare(state, strings.NewReader(want)); err != nil {
			t.Error(err)
		}
	})
}
