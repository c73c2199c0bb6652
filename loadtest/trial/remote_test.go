package trial

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// TestVendorsElsewhereAreJudgedByThisRunAlone uses a vendor before the load and
// during it, and leaves another one alone.
func TestVendorsElsewhereAreJudgedByThisRunAlone(t *testing.T) {
	vendors, err := fakevendor.New(fakevendor.Config{Seed: 1, LedgerEntries: 5, Vendors: map[string]fakevendor.Vendor{
		"peopledatalabs": {}, "hunter": {},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if err := vendors.SetData("peopledatalabs", fakevendor.Data{}); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(vendors)
	defer server.Close()
	call := func(times int) {
		for range times {
			request := httptest.NewRequest("GET", "/peopledatalabs/v5/person/enrich?email=ada.north@blue-river.example", nil)
			request.Header.Set("X-Api-Key", "k")
			vendors.ServeHTTP(httptest.NewRecorder(), request)
		}
	}
	figures := func(load int) (map[string]float64, []judge.Ledger) {
		r, err := newRemote(t.Context(), strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		call(load)
		ledgers, err := r.ledgers(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return judge.Judge(&scenario.Scenario{}, judge.Evidence{RedisTrips: -1, Ledgers: ledgers}).Figures, ledgers
	}
	call(30)
	f, ledgers := figures(2)
	if f["vendor_calls"] != 2 || f["calls_per_lead"] != 2 || f["duplicates"] != 2 || len(ledgers) != 2 {
		t.Errorf("two calls for one who had been paid before: %v, %d ledgers", f, len(ledgers))
	}
	if f, _ = figures(0); f["vendor_calls"] != 0 || f["duplicates"] != 0 {
		t.Errorf("no call: %v", f)
	} else if _, measured := f["vendor_calls"]; !measured {
		t.Error("no call is not measured")
	}
	f, ledgers = figures(8)
	if _, told := f["calls_per_lead"]; told || f["vendor_calls"] != 8 || ledgers[1].Cut != 3 {
		t.Errorf("eight calls where five are kept: %v", f)
	}
	r, err := newRemote(t.Context(), strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := vendors.Reset(fakevendor.Reset{Ledger: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.ledgers(t.Context()); err == nil {
		t.Error("a ledger that was emptied judges")
	}
}
