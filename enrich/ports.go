package enrich

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/email"
)

// Recall remembers records and may forget them at any time. It never fails a
// request: what it cannot recall is asked for again.
type Recall interface {
	// Recall returns what is remembered about a subject and which tier did.
	Recall(ctx context.Context, key email.Key) (Record, Tier)
	// Remember joins the record with what is remembered, to be kept until the
	// given time at most.
	Remember(ctx context.Context, key email.Key, record Record, until time.Time)
	// Lease waits until this process is the one of all replicas to ask providers
	// about a subject, or until another has brought what enough accepts. It
	// returns all that is known by then, and what gives the lease back, which
	// Remember does as well. It waits for half of ctx's time at most and goes
	// on without a lease then.
	Lease(ctx context.Context, key email.Key, enough func(Record) bool) (known Record, release func())
	// Forget drops a subject from every tier; the error says that a tier could
	// not be reached.
	Forget(ctx context.Context, key email.Key) error
}

// Finder asks providers for facts.
type Finder interface {
	// Sources lists the providers that can supply an attribute to an account,
	// in the listed order.
	Sources(account Account, a Attribute) []string
	// Included lists those of Sources that supply the attribute without a price
	// of its own: what has one is bought only for who names it.
	Included(account Account, a Attribute) []string
	// Find asks for what is needed, until ctx's deadline at the latest. Once ctx
	// is cancelled no further call begins; one that was sent is waited for.
	Find(ctx context.Context, ask Ask) Found
}

// Ask is what the router is to find.
type Ask struct {
	Subject Subject
	// Needs, never empty.
	Needs   []Need
	Account Account
	Lane    Lane
	// Purse is what the calls may cost, shared with the request's other subject;
	// nil: no cap.
	Purse          *Purse
	IdempotencyKey string
	// Late is given what a call brought that Find could not wait for, from
	// another goroutine, perhaps after Find has returned; nil: it is dropped.
	Late func(Record)
}

// Found is what a look-up found.
type Found struct {
	// Record of all facts, absences included, that vendors stated.
	Record Record
	// Recalled is what another replica brought meanwhile.
	Recalled Record
	Attempts []Attempt
	// Failed tells for a need without an authoritative answer why: a vendor's
	// outcome or one of the Reason words.
	Failed map[Attribute]string
	// Err is what the caller can do about the failures; nil without any.
	Err *Error
}
