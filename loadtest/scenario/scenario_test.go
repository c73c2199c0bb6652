package scenario_test

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

func TestWhatHappensIsNamed(t *testing.T) {
	for want, event := range map[string]scenario.Event{
		"kill replica 2": {Do: "kill replica", Replica: 2},
		"freeze redis":   {Do: "freeze redis"},
		"acme: brownout of 60% for 30s": {Vendor: "acme", Faults: &fakevendor.Faults{
			Rules: []fakevendor.Fault{{Kind: fakevendor.Brownout, Share: 0.6, Until: 30 * time.Second}}}},
		"acme: storm after 5s for 10s every 25s": {Vendor: "acme", Faults: &fakevendor.Faults{
			Rules: []fakevendor.Fault{{Kind: fakevendor.Storm, From: 5 * time.Second, Until: 15 * time.Second, Every: 25 * time.Second}}}},
		"acme: no faults, limits: fixed of 150 per 10s": {Vendor: "acme", Faults: &fakevendor.Faults{}, Limits: &fakevendor.Limits{
			Rules: []strict.Limit{{Shape: strict.Fixed, Amount: 150, Window: 10 * time.Second}}}},
	} {
		if got := event.What(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
