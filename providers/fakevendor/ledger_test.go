package fakevendor

import (
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

func TestTheLedgerIsBoundedAndItsCountersAreNot(t *testing.T) {
	config := two()
	config.LedgerEntries, config.PaidSubjects = 10, 5
	bubble(t, config, func(t *testing.T, c *client) {
		for i := range 25 {
			time.Sleep(time.Second)
			c.call("GET", "/primary/v5/person/enrich?email=ada"+strings.Repeat("a", i%12)+".north@blue-river.example", "", pdlHeader)
		}
		entries := c.server.Ledger("primary", 0, 100)
		if len(entries) != 10 || entries[0].Seq != 16 || entries[9].Seq != 25 {
			t.Errorf("%d entries from %d", len(entries), entries[0].Seq)
		}
		got := c.server.Summary("primary")
		// Five subjects are remembered: of 25 calls to 12 subjects, 5 are first
		// ones, 6 repeats of those, and of 14 nobody can tell.
		if got.Calls != 25 || got.ByOutcome[enrich.Hit] != 25 || got.ChargedMicros != 25*280_000 || got.Duplicates != 6 || got.Untracked != 14 {
			t.Errorf("counted %+v", got)
		}
	})
}

// TestRepeatsAreToldWhateverBecameOfThem sends equal and different requests to a
// vendor that answers none of them.
func TestRepeatsAreToldWhateverBecameOfThem(t *testing.T) {
	config := only("apollo", all("apollo"))
	down := config.Vendors["apollo"]
	down.Faults.Rules = []Fault{{Kind: Outage, Status: 503}}
	config.Vendors["apollo"] = down
	bubble(t, config, func(t *testing.T, c *client) {
		for _, body := range []string{`{"email":"ada.north@blue-river.example"}`, `{"email":"ben.south@blue-river.example"}`, `{"email":"ada.north@blue-river.example"}`} {
			c.do("apollo", "POST /api/v1/people/match "+body, "")
		}
		booked := c.server.Ledger("apollo", 0, 3)
		if len(booked) != 3 || booked[0].Fault == "" || booked[0].Subject != "" {
			t.Fatalf("booked %+v", booked)
		}
		if booked[0].Request == "" || booked[0].Request != booked[2].Request || booked[0].Request == booked[1].Request {
			t.Errorf("requests %s, %s, %s: the third repeats the first", booked[0].Request, booked[1].Request, booked[2].Request)
		}
	})
}
