package jobs

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

// deliver does the job of one delivery.
func (e *Engine) deliver(ctx context.Context, task Task) error {
	if err := e.crowd.hold(task.Lane); err != nil {
		return err
	}
	d, err := e.Store.Dispatch(ctx, task.Target)
	if errors.Is(err, ledger.ErrUnknown) {
		return nil
	} else if err != nil {
		return err
	}
	if d.State != ledger.DeliveryPending || d.Reopened != task.Round {
		return nil
	}
	sink, known := e.sinks[d.Sink]
	if !known {
		return e.giveUpDelivery(ctx, d.Delivery, ledger.DeadSinkGone, "the sink is not configured any more")
	}
	if until, paused := e.crowd.pausedUntil(ledger.ScopeSink, d.Sink); paused {
		return Later(max(time.Until(until), shortestWait))
	}
	if d.Head > d.Version {
		return e.endDelivery(ctx, d.Delivery, ledger.DeliverySuperseded, "superseded")
	}
	switch objected, err := e.objectedTo(d); {
	case err != nil:
		return err
	case objected:
		return e.endDelivery(ctx, d.Delivery, ledger.DeliveryCancelled, enrich.ReasonSuppressed)
	}
	failure := sinks.AsError(sink.Deliver(ctx, sinks.Message{ID: d.ID, RecordKey: d.Subject, OperationKey: d.OperationKey,
		Version: d.Version, Body: d.Payload, Replayed: d.Reopened > 0 && d.Attempts == 0}))
	if failure == nil {
		return e.endDelivery(ctx, d.Delivery, ledger.DeliveryDone, "")
	}
	return e.afterFailedDelivery(ctx, d.Delivery, failure)
}

// objectedTo tells whether the subject of a delivery has objected or was erased.
func (e *Engine) objectedTo(d ledger.Dispatch) (bool, error) {
	switch {
	case !d.LeadKept:
		return false, nil
	case d.Address == "":
		return true, nil
	}
	return e.Objected(ledger.Lead{Address: d.Address})
}

// endDelivery ends a delivery, unless it has ended meanwhile.
func (e *Engine) endDelivery(ctx context.Context, d ledger.Delivery, state ledger.DeliveryState, reason string) error {
	_, err := e.deliveries.Ask(ctx, ledger.DeliveryEnd{Delivery: d, State: state, Reason: reason})
	return err
}

// endDeliveries writes the ends of many deliveries down.
func (e *Engine) endDeliveries(ctx context.Context, ends []ledger.DeliveryEnd) (ended []bool, err error) {
	err = e.Store.MakeWay(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		ended, err = e.Store.EndDeliveries(ctx, tx, ends...)
		return err
	})
	return ended, err
}

// afterFailedDelivery tries again later or gives up; the lead stays what it is.
func (e *Engine) afterFailedDelivery(ctx context.Context, d ledger.Delivery, failure *sinks.Error) error {
	switch {
	case failure.Class == sinks.Gone:
		return e.giveUpDelivery(ctx, d, ledger.DeadSinkGone, failure.Reason)
	case failure.Class == sinks.Refused:
		return e.giveUpDelivery(ctx, d, ledger.DeadSinkRefused, failure.Reason)
	case !failure.Attempted: // the breaker is open: no attempt, and no writing either
		return Later(max(time.Until(failure.ReadyAt), shortestWait) + jitter(shortestWait))
	case d.Attempts+1 >= e.config.DeliveryTries:
		return e.giveUpDelivery(ctx, d, ledger.DeadSinkFailing, failure.Reason)
	}
	var attempts int
	err := e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
		attempts, err = e.Store.TriedDelivery(ctx, tx, d.ID, failure.Reason)
		return err
	})
	if errors.Is(err, ledger.ErrTaken) { // it has ended meanwhile
		return nil
	} else if err != nil {
		return err
	}
	after := max(grown(e.config.DeliveryBackoff, attempts), time.Until(failure.ReadyAt))
	return Later(after + jitter(after))
}

// giveUpDelivery makes a delivery a dead letter of its own.
func (e *Engine) giveUpDelivery(ctx context.Context, d ledger.Delivery, reason, message string) error {
	return e.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		return e.buryDelivery(ctx, tx, d, reason, message)
	})
}

// buryDelivery gives a delivery up, unless it has ended meanwhile.
func (e *Engine) buryDelivery(ctx context.Context, tx *sql.Tx, d ledger.Delivery, reason, message string) error {
	ended, err := e.Store.EndDeliveries(ctx, tx, ledger.DeliveryEnd{Delivery: d, State: ledger.DeliveryError, Reason: reason})
	if err != nil || !ended[0] {
		return err
	}
	return e.Store.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadDelivery, Target: d.ID, Lead: d.Lead, Account: d.Account,
		Subject: d.Subject, Lane: deliverLane, Reason: reason, Provider: d.Sink, Message: message, Attempts: d.Attempts + 1})
}
