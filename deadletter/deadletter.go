// Package deadletter is the inbox of failed work: it says what each reason
// means and who can mend it, and repeats or closes what a person chose.
package deadletter

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// Class is what a reason means.
type Class struct {
	// Meaning is a sentence for whoever opens the inbox.
	Meaning string
	// Remedy says what to do before a replay can help.
	Remedy string
	// Replays tells whether a replay can help at all once that is done.
	Replays bool
}

// Reasons are the classes of every reason that a dead letter has.
var Reasons = map[string]Class{
	string(enrich.Unavailable): {"providers failed in every try", "see that the providers are well", true},
	string(enrich.Throttled):   {"no provider could be asked in time", "wait for quotas, or raise limits", true},
	string(enrich.OutOfTime):   {"every try ran out of time", "raise the attempt timeout, or see why providers are slow", true},
	string(enrich.OutOfMoney):  {"it would cost more than the caller allows", "raise the cap of the lead or the account", true},
	string(enrich.Rejected):    {"providers refuse this installation", "put credentials, credits or the definition right", true},
	string(enrich.Denied):      {"the account may not ask for it", "give the account the right, or leave it", true},
	string(enrich.Invalid):     {"the request can never be answered", "mend the lead where it comes from", false},
	string(enrich.Internal):    {"a fault of the program", "look for its id in the log and report it", true},
	ledger.DeadBudget:          {"its deadline passed before it could be worked", "replay it when quotas allow", true},
	ledger.DeadCrashed:         {"the process ended again and again while it was worked", "report it, with the log", true},
	ledger.DeadLost:            {"the queue gave it up", "replay it", true},
	ledger.DeadSinkGone:        {"the receiver wants nothing more, or is not configured", "configure the receiver", true},
	ledger.DeadSinkRefused:     {"the receiver refuses this message", "see why at the receiver", true},
	ledger.DeadSinkFailing:     {"the receiver could not be reached in all tries", "see that the receiver is well", true},
}

// Resubmitter puts reopened work into the queue, in the transaction that
// reopened it; jobs.Engine does.
type Resubmitter interface {
	ResubmitLead(ctx context.Context, tx *sql.Tx, id string, lane enrich.Lane) error
	ResubmitDelivery(ctx context.Context, tx *sql.Tx, id string) error
	// Objected tells whether a lead's subject has objected meanwhile.
	Objected(lead ledger.Lead) (bool, error)
}

// Inbox works on the dead letters of a ledger. It is safe for concurrent use.
type Inbox struct {
	Store *ledger.Store
	Queue Resubmitter
	// Deadline of replayed leads from the replay on.
	Deadline time.Duration
}

// List lists dead letters, oldest first.
func (i *Inbox) List(ctx context.Context, filter ledger.DeadFilter) ([]ledger.DeadLetter, error) {
	return i.Store.DeadLetters(ctx, filter)
}

// Count counts them by reason and provider, the most first.
func (i *Inbox) Count(ctx context.Context, filter ledger.DeadFilter) ([]ledger.DeadCount, error) {
	return i.Store.CountDead(ctx, filter)
}

// The resolutions of dead letters.
const (
	resolved = "resolved"
	replayed = "replayed"
)

// Resolve closes one dead letter without repeating its work.
func (i *Inbox) Resolve(ctx context.Context, id, note string) error {
	return i.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return i.Store.Resolve(ctx, tx, id, resolved, note)
	})
}

// Replay says how dead letters are repeated.
type Replay struct {
	// DryRun only tells what would be done.
	DryRun bool
	// Rate is the most letters a second; 0: as fast as they can be written.
	Rate float64
	// Lane of replayed leads; empty: their own.
	Lane enrich.Lane
	// Note is kept with the letters.
	Note string
}

// Result is what became of one letter.
type Result struct {
	ID     string
	Target string
	// Refused is a stable word: "live", "suppressed", "resolved", "gone";
	// empty: it is in work again, or would be.
	Refused string
}

// page is how many letters are read at once.
const page = 200

// Replay puts the work of all chosen letters into the queue again, with its own
// key and all its tries, and calls each with what became of every one. It stops
// at the first error of the ledger or of each.
func (i *Inbox) Replay(ctx context.Context, filter ledger.DeadFilter, replay Replay, each func(Result) error) error {
	until := time.Now() // letters that come back meanwhile are not repeated again
	if filter.Before.IsZero() || filter.Before.After(until) {
		filter.Before = until
	}
	filter.Most = page
	pace := newPace(replay.Rate)
	defer pace.stop()
	for {
		letters, err := i.Store.DeadLetters(ctx, filter)
		if err != nil || len(letters) == 0 {
			return err
		}
		for _, letter := range letters {
			if err := pace.wait(ctx); err != nil {
				return err
			}
			result, err := i.one(ctx, letter, replay)
			if err != nil {
				return err
			}
			if err := each(result); err != nil {
				return err
			}
		}
		filter.After = letters[len(letters)-1].ID
	}
}

// refusal is an error that concerns one letter alone.
type refusal string

// Error returns the word.
func (r refusal) Error() string { return string(r) }

// one repeats one letter.
func (i *Inbox) one(ctx context.Context, letter ledger.DeadLetter, replay Replay) (Result, error) {
	result := Result{ID: letter.ID, Target: letter.Target}
	err := i.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := i.reopen(ctx, tx, letter, replay); err != nil {
			return err
		}
		if err := i.Store.Resolve(ctx, tx, letter.ID, replayed, replay.Note); err != nil {
			return err
		}
		if replay.DryRun {
			return errDryRun
		}
		return i.Store.Note(ctx, tx, ledger.Event{Subject: letter.Subject, At: time.Now(), Kind: ledger.EventReplayed, Account: letter.Account,
			Lead: letter.Lead, Detail: ledger.Detail{"reason": letter.Reason, "of": string(letter.Kind)}})
	})
	var refused refusal
	switch {
	case errors.Is(err, errDryRun):
		return result, nil
	case errors.As(err, &refused):
		result.Refused = string(refused)
	case errors.Is(err, ledger.ErrLive):
		result.Refused = "live"
	case errors.Is(err, ledger.ErrTaken):
		result.Refused = "resolved"
	case err != nil:
		return result, fmt.Errorf("deadletter: replay: %w", err)
	}
	return result, nil
}

// errDryRun undoes what a dry run did.
var errDryRun = errors.New("deadletter: dry run")

// reopen makes the work of a letter wait again.
func (i *Inbox) reopen(ctx context.Context, tx *sql.Tx, letter ledger.DeadLetter, replay Replay) error {
	lead, err := i.Store.LeadIn(ctx, tx, letter.Lead)
	if errors.Is(err, ledger.ErrUnknown) || err == nil && lead.Address == "" {
		return refusal("gone") // erased, or kept long enough
	} else if err != nil {
		return err
	}
	objected, err := i.Queue.Objected(lead)
	switch {
	case err != nil:
		return err
	case objected:
		return refusal("suppressed")
	case letter.Kind == ledger.DeadDelivery:
		if err := i.Store.ReopenDelivery(ctx, tx, letter.Target); err != nil {
			return err
		}
		return i.Queue.ResubmitDelivery(ctx, tx, letter.Target)
	}
	lane := lead.Lane
	if replay.Lane != "" {
		lane = replay.Lane
	}
	if err := i.Store.Reopen(ctx, tx, lead.ID, lane, time.Now().Add(i.Deadline)); err != nil {
		return err
	}
	return i.Queue.ResubmitLead(ctx, tx, lead.ID, lane)
}
