package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// TestAStormIsMetWithOneCallAtATime: twice the vendor refuses everything for ten
// seconds, whatever its hints of a second say. Three replicas with a backlog
// waste next to nothing on it, and go on when it is over.
func TestAStormIsMetWithOneCallAtATime(t *testing.T) {
	if raceEnabled {
		t.Skip("slow under the race detector; the other tests show races")
	}
	synctest.Test(t, func(t *testing.T) {
		vendor := judgedBy(strict.Limit{Name: "rate", Shape: strict.Fixed, Amount: 300, Window: 10 * time.Second})
		for _, from := range []time.Duration{15 * time.Second, 40 * time.Second} {
			vendor.Faults.Rules = append(vendor.Faults.Rules, fakevendor.Fault{Kind: fakevendor.Storm, From: from, Until: from + 10*time.Second})
		}
		f := newFleet(t, vendor, enrich.Limit{Name: "rate", Shape: enrich.FixedWindow, Amount: 300, Window: 10 * time.Second})
		const leads = 1800
		f.drain(leads, inTurn)
		s := f.summary()
		if calls := float64(s.Calls) / leads; calls > 1.04 {
			t.Errorf("%.3f calls per lead", calls)
		}
		if s.RateLimited < 4 || f.per10k() > 400 {
			t.Errorf("%d of %d calls were refused", s.RateLimited, s.Calls)
		}
		if took := f.drained(); took > 95*time.Second {
			t.Errorf("%d leads took %s, of which the vendor refused everything for 20 s", leads, took)
		}
		t.Logf("%d calls, %d refused, %s", s.Calls, s.RateLimited, f.drained())
	})
}
