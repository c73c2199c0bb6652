package jobs

import (
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// TestAnOutageCostsNoTries judges refusals over a lead's whole life, on its last
// try: it looks ever more seldom, and ends with its deadline.
func TestAnOutageCostsNoTries(t *testing.T) {
	config := Config{}.WithDefaults()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	began := now
	lead := ledger.Lead{Attempts: config.Tries, Deadline: now.Add(config.Deadline)}
	for {
		lead.Fence++
		v := judge(&enrich.Error{Kind: enrich.Unavailable}, false, lead, config, now)
		if v.move == bury && v.reason == ledger.DeadBudget {
			break
		}
		if v.move != wait || v.after < shortestWait || v.after > longestWait*6/5 || lead.Fence > 4 && v.after < longestWait {
			t.Fatalf("refusal %d: %+v", lead.Fence, v)
		}
		now = now.Add(v.after)
	}
	if lasted := now.Sub(began); lasted < config.Deadline-2*longestWait {
		t.Errorf("given up after %s", lasted)
	}
}

// TestAVerdictWaitsForTheBreaker and counts what a vendor was asked for.
func TestAVerdictWaitsForTheBreaker(t *testing.T) {
	config := Config{}.WithDefaults()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	lead := ledger.Lead{Attempts: config.Tries, Fence: 3, Deadline: now.Add(config.Deadline)}
	opens := now.Add(10 * time.Minute)
	for name, one := range map[string]struct {
		failure enrich.Error
		tried   bool
		move    move
	}{
		"refused":        {enrich.Error{Kind: enrich.Unavailable, ReadyAt: opens}, false, wait},
		"asked in vain":  {enrich.Error{Kind: enrich.Unavailable, ReadyAt: opens}, true, bury},
		"a mistake":      {enrich.Error{Kind: enrich.Internal}, false, bury},
		"no quota":       {enrich.Error{Kind: enrich.Throttled, ReadyAt: opens}, true, wait},
		"asked too late": {enrich.Error{Kind: enrich.OutOfTime}, true, bury},
	} {
		v := judge(&one.failure, one.tried, lead, config, now)
		if v.move != one.move {
			t.Errorf("%s: %+v", name, v)
		}
		if v.move == wait && (now.Add(v.after).Before(opens) || !v.readyAt.Equal(opens)) {
			t.Errorf("%s: comes back after %s, others at %s", name, v.after, v.readyAt)
		}
	}
}
