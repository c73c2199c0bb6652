package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// ResubmitLead puts a reopened lead into the queue. One of the bulk lane is fed
// to it in its turn.
func (e *Engine) ResubmitLead(ctx context.Context, tx *sql.Tx, id string, lane enrich.Lane) error {
	if lane == enrich.Bulk {
		return nil
	}
	lead, err := e.Store.LeadIn(ctx, tx, id)
	if err != nil {
		return err
	}
	return e.requeue(ctx, tx, lead)
}

// ResubmitDelivery puts a reopened delivery into the queue.
func (e *Engine) ResubmitDelivery(ctx context.Context, tx *sql.Tx, id string) error {
	delivery, err := e.Store.DeliveryIn(ctx, tx, id)
	if err != nil {
		return err
	}
	return e.queue.Submit(ctx, tx, Job{Kind: Deliver, Target: id, Lane: deliverLane, Round: delivery.Reopened})
}

// Objected tells whether a lead's subject has objected.
func (e *Engine) Objected(lead ledger.Lead) (bool, error) {
	err := e.objects(lead)
	var refused *enrich.Error
	if errors.As(err, &refused) && refused.Kind == enrich.Denied {
		return true, nil
	}
	return false, err
}

// Reset takes a lead from its worker and has it worked again.
func (e *Engine) Reset(ctx context.Context, id string) error {
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := e.Store.Reset(ctx, tx, id); err != nil {
			return err
		}
		lead, err := e.Store.LeadIn(ctx, tx, id)
		if err != nil {
			return err
		}
		return e.requeue(ctx, tx, lead)
	})
}

// Cancel ends a lead that has not ended. Its worker writes nothing any more.
func (e *Engine) Cancel(ctx context.Context, id, reason string) error {
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error { return e.Store.Cancel(ctx, tx, id, reason) })
}

// Retry works a lead again that has ended, with all its tries. An open dead
// letter of it is resolved.
func (e *Engine) Retry(ctx context.Context, id string) error {
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		lead, err := e.Store.LeadIn(ctx, tx, id)
		if err != nil {
			return err
		}
		if lead.Address == "" {
			return ledger.ErrUnknown // erased
		}
		if err := e.Store.Reopen(ctx, tx, id, lead.Lane, time.Now().Add(e.config.Deadline)); err != nil {
			return err
		}
		if err := e.Store.ResolveOf(ctx, tx, ledger.DeadLead, id, "retried"); err != nil {
			return err
		}
		return e.ResubmitLead(ctx, tx, id, lead.Lane)
	})
}

// Control enriches a lead once more, asking vendors anew, and returns the report
// without writing it down.
func (e *Engine) Control(ctx context.Context, lead ledger.Lead) ([]byte, error) {
	account, known := e.Account(lead.Account)
	if !known {
		return nil, failed(enrich.Denied, "the account is not configured any more")
	}
	if err := e.objects(lead); err != nil {
		return nil, err
	}
	lead.Want.Refresh, lead.Attempts = true, 1
	lead.Deadline = time.Now().Add(e.config.AttemptTimeout)
	lead.Key += ":control" // a vendor that knows the key would repeat its answer
	answer, err := e.ask(ctx, account, lead, time.Now())
	if err != nil {
		return nil, err
	}
	report, err := json.Marshal(MakeReport(lead, answer, time.Now()))
	if err != nil {
		return nil, fmt.Errorf("jobs: report: %w", err)
	}
	return report, nil
}

// EraseSubject removes what durable work knows about a subject. Jobs hold
// nothing of it. Whoever erases suppresses the subject first, so that nothing
// new comes in meanwhile.
func (e *Engine) EraseSubject(ctx context.Context, key email.Key) (leads int64, err error) {
	return e.Store.EraseSubject(ctx, e.Store.SubjectKey(key))
}
