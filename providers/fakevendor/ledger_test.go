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
