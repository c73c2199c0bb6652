package router

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// hopeful is a quota that promises calls of acme at once, and has them from a
// moment on. Before, it refuses when the caller can wait no longer or, if it is
// curt, at once; if it is frank, it says until when.
type hopeful struct {
	*quota.Keeper
	from  time.Time
	curt  bool
	frank bool
	asked int
}

func (h *hopeful) Forecast(ask quota.Ask) quota.Refusal {
	if ask.Provider == "acme" {
		return quota.Refusal{}
	}
	return h.Keeper.Forecast(ask)
}

func (h *hopeful) Acquire(ctx context.Context, ask quota.Ask) (*quota.Permit, error) {
	if ask.Provider != "acme" {
		return h.Keeper.Acquire(ctx, ask)
	}
	h.asked++
	refusal := &quota.Refusal{Provider: ask.Provider, Reason: enrich.ReasonNoToken}
	if h.frank {
		refusal.ReadyAt = h.from
	}
	if h.curt && time.Now().Before(h.from) || !sleep(ctx, time.Until(h.from)) {
		return nil, refusal
	}
	return h.Keeper.Acquire(ctx, ask)
}

// TestAForecastThatIsTooHopeful holds nobody up for long who can ask another, and
// drives nobody away whom no other can help. Nobody spins.
func TestAForecastThatIsTooHopeful(t *testing.T) {
	for name, c := range map[string]struct {
		curt bool
		bolt string
	}{"waits": {false, "miss"}, "refuses at once": {true, "miss"}, "another knows": {true, "hit"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				acme, bolt := scriptedVendor("acme", "hit"), scriptedVendor("bolt", c.bolt)
				const after = 20 * time.Second
				q := &hopeful{Keeper: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil}), from: time.Now().Add(after), curt: c.curt}
				r := newRouter(t, Parts{Providers: []Provider{asked("acme", acme), asked("bolt", bolt)}, Quota: q})
				start := time.Now()
				found := r.Find(t.Context(), titleAsk(t, "anna", "acme", "bolt"))
				took := time.Since(start)
				if len(found.Failed) > 0 || len(found.Attempts) == 0 || found.Attempts[0].Provider != "bolt" {
					t.Fatalf("failed %v after %s, attempts = %+v", found.Failed, took, found.Attempts)
				}
				most := 2 * time.Second
				if c.bolt == "miss" {
					most += after + 5*time.Second // the longest backoff
				}
				if took > most || q.asked > 15 {
					t.Errorf("after %s and %d refusals, want at most %s and 15", took, q.asked, most)
				}
			})
		})
	}
}

// TestWhatARefusalSaysIsObeyed: nobody else can be asked, and there is time to wait.
func TestWhatARefusalSaysIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const after = 20 * time.Second
		q := &hopeful{Keeper: newQuota(t, map[string][]enrich.Limit{"acme": nil}), from: time.Now().Add(after), curt: true, frank: true}
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit"))}, Quota: q})
		start := time.Now()
		found := r.Find(t.Context(), titleAsk(t, "anna", "acme"))
		if took := time.Since(start); len(found.Failed) > 0 || took > after+time.Second || q.asked != 2 {
			t.Errorf("failed %v after %s, asked %d times", found.Failed, took, q.asked)
		}
	})
}
