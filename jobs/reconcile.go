package jobs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

// reconcile finds work whose job is gone without the ledger knowing. What the
// queue gave up becomes a dead letter, what it lost gets another job.
func (e *Engine) reconcile(ctx context.Context) error {
	if err := e.buryLost(ctx); err != nil {
		return err
	}
	stuck, err := e.Store.Leads(ctx, ledger.Filter{StuckSince: time.Now().Add(-e.config.AttemptTimeout - 2*rescueAfter)})
	if err != nil {
		return err
	}
	for _, lead := range stuck {
		if err := e.submit(ctx, []Job{{Kind: Enrich, Target: lead.ID, Lane: lead.Lane, Round: lead.Revision}}); err != nil {
			return err
		}
	}
	return e.rebuild(ctx)
}

// buryLost makes dead letters of what the queue gave up on its own, and has the
// queue forget it.
func (e *Engine) buryLost(ctx context.Context) error {
	for {
		lost, err := e.queue.List(ctx, feedAtOne, "discarded")
		if err != nil {
			return err
		}
		for _, entry := range lost {
			err := e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
				if entry.Kind == Deliver {
					return e.loseDelivery(ctx, tx, entry)
				}
				return e.loseLead(ctx, tx, entry)
			})
			if err != nil {
				return err
			}
			if err := e.queue.Forget(ctx, entry.ID); err != nil && !errors.Is(err, ledger.ErrUnknown) {
				return err
			}
		}
		if len(lost) < feedAtOne {
			return nil
		}
	}
}

// loseLead gives up a lead unless it has ended, has another job, or is worked.
func (e *Engine) loseLead(ctx context.Context, tx *sql.Tx, entry Entry) error {
	lead, err := e.Store.LeadIn(ctx, tx, entry.Target)
	if errors.Is(err, ledger.ErrUnknown) {
		return nil
	} else if err != nil {
		return err
	}
	held := lead.State == ledger.StateProcessing && time.Since(lead.StartedAt) < e.config.AttemptTimeout+rescueAfter
	if lead.State.Ended() || lead.Revision != entry.Round || held {
		return nil
	}
	if err := e.Store.Lose(ctx, tx, lead, ledger.DeadLost); err != nil {
		return lost(err)
	}
	err = e.Store.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadLead, Target: lead.ID, Lead: lead.ID, Account: lead.Account,
		Subject: lead.Subject, Lane: lead.Lane, Reason: ledger.DeadLost, Message: "its job failed every time", Attempts: lead.Attempts})
	if err != nil {
		return err
	}
	return e.Store.Note(ctx, tx, ledger.Event{Subject: lead.Subject, At: time.Now(), Kind: ledger.EventFailed, Account: lead.Account,
		Lead: lead.ID, Detail: ledger.Detail{"reason": ledger.DeadLost, "attempt": lead.Attempts}})
}

// loseDelivery gives up a delivery unless it has ended or has another job.
func (e *Engine) loseDelivery(ctx context.Context, tx *sql.Tx, entry Entry) error {
	d, err := e.Store.DeliveryIn(ctx, tx, entry.Target)
	if errors.Is(err, ledger.ErrUnknown) {
		return nil
	} else if err != nil {
		return err
	}
	if d.State != ledger.DeliveryPending || d.Reopened != entry.Round {
		return nil
	}
	return e.buryDelivery(ctx, tx, d, ledger.DeadLost, "its job failed every time")
}
