package jobs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// Lead is what a caller hands in.
type Lead struct {
	// Email is what somebody typed; Domain is set instead of it for a company.
	Email  string
	Domain string
	// Key makes two leads the same; empty: of the address and the UTC day of At.
	Key string
	// At is when the lead came into being; zero: now.
	At time.Time
	// Contact is what else came with it; nil: nothing.
	Contact json.RawMessage
	// Lane; empty: standard.
	Lane   enrich.Lane
	Want   ledger.Want
	Origin string
	// Budget is the time in which it is to be done; 0: the configured deadline.
	Budget time.Duration
}

// Result is what became of one lead that was handed in.
type Result struct {
	// Receipt of an accepted lead.
	Receipt ledger.Receipt
	// Refused says why it was not accepted; nil: it was.
	Refused *enrich.Error
}

// Submit accepts leads of one account and returns a result for each, in order,
// when all that was accepted lies on the disk. With an error nothing after the
// returned results is accepted.
func (e *Engine) Submit(ctx context.Context, account enrich.Account, leads ...Lead) ([]Result, error) {
	if len(leads) == 1 {
		result, err := e.submitOne(ctx, account, leads[0])
		if err != nil {
			return nil, unwritten(err)
		}
		return []Result{result}, nil
	}
	results := make([]Result, 0, len(leads))
	for len(leads) > 0 {
		page := leads[:min(len(leads), ledger.MostAccepted)]
		leads = leads[len(page):]
		var done []Result
		write := e.Store.Write
		if page[0].Lane == enrich.Bulk {
			write = e.Store.MakeWay
		}
		err := write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
			done, err = e.SubmitIn(ctx, tx, account, page)
			return err
		})
		if err != nil {
			return results, unwritten(err)
		}
		results = append(results, done...)
	}
	return results, nil
}

func unwritten(err error) error {
	return &enrich.Error{Kind: enrich.Unavailable, Message: "leads cannot be written down at the moment", Cause: err}
}

// acceptance is a lead that one of many callers hands in.
type acceptance struct {
	account enrich.Account
	lead    Lead
}

func (e *Engine) submitOne(ctx context.Context, account enrich.Account, lead Lead) (Result, error) {
	if lead.Lane == enrich.Bulk {
		return e.patientAcceptances.Ask(ctx, acceptance{account, lead})
	}
	return e.acceptances.Ask(ctx, acceptance{account, lead})
}

// accepting accepts what many callers hand in at once, account by account.
func (e *Engine) accepting(write ledger.Writing) func(context.Context, []acceptance) ([]Result, error) {
	return func(ctx context.Context, all []acceptance) ([]Result, error) {
		results := make([]Result, len(all))
		of := map[string][]int{}
		for i, one := range all {
			of[one.account.Name] = append(of[one.account.Name], i)
		}
		return results, write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			for _, name := range slices.Sorted(maps.Keys(of)) {
				var leads []Lead
				for _, i := range of[name] {
					leads = append(leads, all[i].lead)
				}
				done, err := e.SubmitIn(ctx, tx, all[of[name][0]].account, leads)
				if err != nil {
					return err
				}
				for n, i := range of[name] {
					results[i] = done[n]
				}
			}
			return nil
		})
	}
}

// SubmitIn is Submit for up to ledger.MostAccepted leads, in a transaction of the
// caller's.
func (e *Engine) SubmitIn(ctx context.Context, tx *sql.Tx, account enrich.Account, leads []Lead) ([]Result, error) {
	results := make([]Result, len(leads))
	var submissions []ledger.Submission
	var at []int
	for i, lead := range leads {
		submission, err := e.prepare(lead)
		if err != nil {
			results[i].Refused = enrich.AsError(err)
			continue
		}
		submission.Weight = account.Weight
		submissions = append(submissions, submission)
		at = append(at, i)
	}
	receipts, err := e.Store.Accept(ctx, tx, account.Name, submissions)
	if err != nil {
		return nil, err
	}
	var jobs []Job
	for i, receipt := range receipts {
		if receipt.Reused {
			results[at[i]].Refused = errReused
			continue
		}
		results[at[i]].Receipt = receipt
		if receipt.Widened { // it is worked anew, so nothing of it is given up
			if err := e.Store.ResolveOf(ctx, tx, ledger.DeadLead, receipt.ID, "retried"); err != nil {
				return nil, err
			}
		}
		if receipt.NeedsJob {
			jobs = append(jobs, Job{Kind: Enrich, Target: receipt.ID, Lane: receipt.Lane, Round: receipt.Revision})
		}
	}
	return results, e.queue.Submit(ctx, tx, jobs...)
}

// errReused refuses a lead whose key is that of a lead about somebody else.
var errReused = &enrich.Error{Kind: enrich.Rejected, Field: "idempotency_key", Reason: enrich.ReasonKeyReused, Offset: -1,
	Message: "the idempotency key was used with another lead"}

// prepare reads a lead. What can never be worked ends here.
func (e *Engine) prepare(lead Lead) (ledger.Submission, error) {
	now := time.Now()
	if lead.At.IsZero() {
		lead.At = now
	}
	if lead.Lane == "" {
		lead.Lane = enrich.Standard
	}
	budget := e.config.Deadline
	if lead.Budget > 0 {
		budget = lead.Budget
	}
	for _, attribute := range lead.Want.Attributes {
		if _, known := enrich.SpecOf(attribute); !known {
			return ledger.Submission{}, &enrich.Error{Kind: enrich.Invalid, Field: "fields", Reason: "unknown_attribute", Offset: -1,
				Message: "fields names an attribute that the contract does not have"}
		}
	}
	if !lead.Want.All && len(lead.Want.Attributes) == 0 {
		lead.Want.All = true
	}
	submission := ledger.Submission{Key: lead.Key, Contact: lead.Contact, Lane: lead.Lane, Want: lead.Want, Origin: lead.Origin,
		Deadline: now.Add(budget)}
	keys, err := e.identify(&submission, lead)
	if err != nil {
		return ledger.Submission{}, err
	}
	for _, key := range keys {
		if err := e.suppressed(key); err != nil {
			return ledger.Submission{}, err
		}
	}
	return submission, nil
}

// identify normalizes the address or domain, and returns its key.
func (e *Engine) identify(submission *ledger.Submission, lead Lead) ([]email.Key, error) {
	if lead.Domain != "" && lead.Email == "" {
		domain, err := e.Normalizer.NormalizeDomain(lead.Domain)
		if err != nil {
			return nil, invalid("domain", err)
		}
		submission.Address = domain.String()
		submission.Subject = e.Store.SubjectKey(domain.Key())
		if submission.Key == "" {
			sum := sha256.Sum256([]byte(domain.String() + ":" + lead.At.UTC().Format(time.DateOnly)))
			submission.Key = hex.EncodeToString(sum[:])
		}
		return []email.Key{domain.Key()}, nil
	}
	address, err := e.Normalizer.Normalize(lead.Email)
	if err != nil {
		return nil, invalid("email", err)
	}
	submission.Address = address.Reveal()
	submission.Subject = e.Store.SubjectKey(address.Key())
	if domain := address.Registrable(); !domain.IsZero() {
		submission.Company = e.Store.SubjectKey(domain.Key())
	}
	if submission.Key == "" {
		submission.Key = email.IdempotencyKey(address, lead.At)
	}
	return []email.Key{address.Key()}, nil
}

func invalid(field string, err error) error {
	refused := &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: "syntax", Offset: -1, Message: "the " + field + " cannot be read", Cause: err}
	var unreadable *email.Error
	if errors.As(err, &unreadable) {
		refused.Reason, refused.Offset = string(unreadable.Class), unreadable.Offset
	}
	return refused
}

// suppressed refuses subjects that objected.
func (e *Engine) suppressed(key email.Key) error {
	switch objected, err := e.Suppressions.Suppressed(key); {
	case err != nil:
		return &enrich.Error{Kind: enrich.Unavailable, Message: "it cannot be told whether the subject objected", Cause: err}
	case objected:
		return &enrich.Error{Kind: enrich.Denied, Reason: enrich.ReasonSuppressed, Message: "the subject objected"}
	}
	return nil
}
