// Package providers knows what a vendor is: a definition, which is data, and
// an account with it. A [Vendor] turns a query into the vendor's request and
// the vendor's answer into facts; package engine interprets the definition.
//
// Nothing here retries, waits or counts: one Lookup is one exchange with the
// vendor. A vendor that needs further steps or polls answers with a [Step],
// and whoever called decides when to go on with it, so that every exchange
// passes the same quota, breaker and budget.
package providers

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Provider is one configured vendor account.
type Provider interface {
	// Lookup makes one exchange with the vendor. It always returns a reply
	// with an outcome: a failure is an outcome too. It returns when ctx ends
	// at the latest, and is safe for concurrent use.
	Lookup(ctx context.Context, query Query) Reply
}

// Query is what a vendor is asked.
type Query struct {
	Subject enrich.Subject
	// Wanted attributes, never empty. The vendor's flags are set for them;
	// what else rides in the answer is not mapped.
	Wanted []enrich.Attribute
	// Operation is which of the provider's calls to make; "" leaves the choice
	// to the provider: the one that supplies most of what is wanted.
	Operation string
	// IdempotencyKey is sent where the definition can carry one.
	IdempotencyKey string
	// Step goes on with an earlier reply's Next; nil begins.
	Step *Step
}

// Step is what a vendor must be asked next for the same query: the second call
// of a look-up in two steps, or a poll for a pending job. Its values are opaque.
type Step struct {
	// Operation names the exchange, as limits count it ("person", "poll").
	Operation string
	// Poll is true when the vendor is still working: wait before asking.
	Poll bool
	// Delay is how long to wait before a poll when the vendor gave no hint.
	Delay time.Duration
	// Deadline is when polling for the job is of no more use; zero: never.
	Deadline time.Time

	progress progress
}

// Reply is what a vendor's answer means.
type Reply struct {
	// Outcome is Pending exactly when Next is set.
	Outcome enrich.Outcome
	// Facts about wanted attributes: values, and absences where the outcome is
	// authoritative. An attribute without a fact stays unknown. They come with
	// the last reply of a look-up, in the order of what was wanted, and are the
	// caller's to change.
	Facts []enrich.Fact
	// Next goes on with the look-up.
	Next *Step
	// Wait is the vendor's own hint how long to wait, never negative; nil: it
	// gave none.
	Wait *time.Duration
	// PauseUntil is set when the answer closes the provider until then.
	PauseUntil time.Time
	// Charge is what this exchange cost.
	Charge enrich.Charge
	// Limits is what the answer said about the account's limits.
	Limits []enrich.LimitState
	// Drift names mapped attributes whose field vanished or changed its type.
	Drift []enrich.Attribute
	// Err says why, for the log: without address, credentials or the vendor's
	// text. Nil for a hit, partial, miss or pending.
	Err error

	rule int // line of the definition that decided, for replays
}
