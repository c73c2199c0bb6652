// Package quota says who may spend a provider's next call: never over the
// vendor's limits, wasting none of them, and nobody waits for ever.
//
// Every provider has one [scheduler]. A caller that cannot go at once waits in
// its lane; within a lane accounts are served in turn by weight, within an
// account first come, first served:
//
//	Acquire ── pause? money? ──► lane ──► account ──► windows, all or none ──► Permit
//	   │                          waits; leaves take nothing                     │
//	   └─► *Refusal{Reason, ReadyAt}                                Settle or Return
//
// A call passes only if all of a provider's limits have room for it. Limits
// are kept by this process alone, or shared by all replicas through Redis.
package quota

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Ask is one call that somebody wants to make.
type Ask struct {
	Provider string
	// Operation is the definition's name of the call, as limits count it.
	Operation string
	Account   string
	// Weight is the account's share of scarce calls next to others'; 0: 1.
	Weight int
	// Lane; empty: Interactive.
	Lane enrich.Lane
	// Entities is how many subjects the call asks for; 0: 1; negative: none, as a
	// poll for what was asked before.
	Entities int
	// Price is the most that the call may charge. It is reserved against the
	// caps on money until the permit is settled or returned.
	Price enrich.Micros
	// Since is when the caller began, with an earlier try: of one account and lane
	// who began first is served first. Zero: now.
	Since time.Time
}

// Refusal is why a call may not begin, and when it may.
type Refusal struct {
	Provider string
	// Reason is one of enrich's Reason words; empty in a forecast: none.
	Reason string
	// ReadyAt is when asking again can help; zero when nobody knows or never.
	ReadyAt time.Time
	// Pause is why the provider is paused, for enrich.ReasonPaused.
	Pause enrich.PauseReason
	// Cause is the context's error when the caller left first.
	Cause error
}

// Error says provider and reason.
func (r *Refusal) Error() string {
	text := "quota: " + r.Provider + " may not be called: " + r.Reason
	if !r.ReadyAt.IsZero() {
		text += " until " + r.ReadyAt.UTC().Format(time.RFC3339)
	}
	return text
}

// Unwrap returns the context's error when the caller left first.
func (r *Refusal) Unwrap() error { return r.Cause }
