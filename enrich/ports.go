package enrich

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/email"
)

// Recall remembers records and may forget them at any time. It never fails a
// request: what it cannot recall is asked for again.
type Recall interface {
	// RecallAll returns what is remembered about each of the subjects, which are
	// different ones, in their order. It takes well under a second, whatever time
	// ctx leaves.
	RecallAll(ctx context.Context, keys []email.Key) []Recalled
	// Remember joins the record with what is remembered, to be kept until the
	// given time at most.
	Remember(ctx context.Context, key email.Key, record Record, until time.Time)
	// Lease waits until this process is the one of all replicas to ask providers
	// about a subject, or until another has brought what enough accepts. It
	// returns all that is known by then, and what gives the lease back, which
	// Remember does as well. When ctx ends it returns without a lease.
	Lease(ctx context.Context, key email.Key, enough func(Record) bool) (known Record, release func())
	// Hold keeps the lease that this process has on a subject, if it has one,
	// until the channel is closed: while other lookups of this process go on,
	// and though the one that took it has ended.
	Hold(key email.Key, until <-chan struct{})
	// Forget drops a subject from every tier; the error says that a tier could
	// not be reached.
	Forget(ctx context.Context, key email.Key) error
}

// Recalled is what is remembered about one subject and the tier that knew it. The
// zero Recalled is nothing.
type Recalled struct {
	Record Record
	Tier   Tier
	// Seen stands for what memory then knew: while it knows the same, it says the
	// same. Nil where another tier knew it.
	Seen any
}

// Finder asks providers for facts.
type Finder interface {
	// Sources lists the providers that can supply an attribute to an account,
	// in the listed order, not to be changed.
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
	// Urgency is the lane from then on, as callers of other lanes come to wait for
	// the look-up too; nil: it stays.
	Urgency *Urgency
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
	// UnderWay is closed when the calls about the subject have ended that Find
	// could not wait for, within the vendors' timeouts; nil: there are none.
	UnderWay <-chan struct{}
}

// Suppressions know the subjects that must not be looked up: people who objected
// or were erased.
type Suppressions interface {
	// Suppressed tells whether a subject is one of them. It is asked for every
	// request and answers from memory. An error means that it cannot be told:
	// nothing is recalled, asked or answered about the subject then.
	Suppressed(key email.Key) (bool, error)
	// Edition is another number after every subject that was added: between two
	// that are equal nobody was. An error means what that of Suppressed does.
	Edition() (uint64, error)
}

// NoSuppressions suppresses nothing.
type NoSuppressions struct{}

// Suppressed returns false.
func (NoSuppressions) Suppressed(email.Key) (bool, error) { return false, nil }

// Edition returns 0.
func (NoSuppressions) Edition() (uint64, error) { return 0, nil }

// Auditor keeps the record of who asked about whom, why, and what came of it.
type Auditor interface {
	// Audit is given every request that was understood, when it has ended. It
	// must not wait for a disk or a network.
	Audit(entry AuditEntry)
}

// NoAudit keeps nothing.
type NoAudit struct{}

// Audit drops the entry.
func (NoAudit) Audit(AuditEntry) {}

// AuditEntry is one request as the audit log sees it: it has keys of subjects,
// never an address or a value.
type AuditEntry struct {
	At        time.Time
	RequestID string
	Account   string
	Purpose   string
	Consent   Consent
	// Person and Company are the keys of the subjects that were looked up; the
	// zero key: none was.
	Person  email.Key
	Company email.Key
	Wanted  []Attribute
	// Sources names for every attribute that was answered who said it.
	Sources map[Attribute]string
	// Asked lists the calls made for this request.
	Asked []Attempt
	Cost  Micros
	// Outcome is a Completeness or an ErrorKind.
	Outcome string
}
