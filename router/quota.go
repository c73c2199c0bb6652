package router

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Quota says when a provider may be called, for all replicas together.
type Quota interface {
	// Acquire waits in the spend's lane until the call may begin, not beyond
	// ctx's deadline. The error is a [*Refusal], which comes at once when the
	// wait cannot fit, or ctx's error.
	Acquire(ctx context.Context, spend Spend) (Permit, error)
	// Forecast tells without waiting when the call could begin, and why not
	// now; the reason is empty when it could.
	Forecast(spend Spend) Refusal
	// Pause closes a provider until then; zero: until somebody resumes it.
	Pause(provider string, until time.Time, reason enrich.PauseReason)
	// Resume ends a pause.
	Resume(provider string)
}

// Permit is the right to make one call. Exactly one of its methods must be
// called, once.
type Permit interface {
	// Settle ends the call: what it charged, and what the vendor said of its
	// limits.
	Settle(charge enrich.Charge, limits []enrich.LimitState)
	// Return gives back what was never sent.
	Return()
}

// Spend is one call as limits count it.
type Spend struct {
	Provider  string
	Operation string
	Account   string
	// Weight is the account's share among others; 0: 1.
	Weight   int
	Lane     enrich.Lane
	Entities int
	// Price is the most that the call may charge.
	Price enrich.Micros
}

// Refusal is why a call may not begin, and when it may: zero when nobody knows.
type Refusal struct {
	ReadyAt time.Time
	// Reason is one of enrich's Reason words; empty: it may begin now.
	Reason string
	// Pause tells why the provider is paused, if it is.
	Pause enrich.PauseReason
}

// Error says the reason.
func (r *Refusal) Error() string { return "not called: " + r.Reason }
