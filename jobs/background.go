package jobs

import (
	"context"
	"database/sql"
	"time"

	"github.com/enrichd/enrichd/ledger"
)

const (
	feedInterval      = 100 * time.Millisecond
	switchInterval    = 500 * time.Millisecond
	reconcileInterval = 30 * time.Second
	tidyInterval      = time.Hour
	wipeInterval      = 10 * time.Second

	// queued is how many jobs of a lane the feeder keeps in the queue. More than
	// the workers finish between two feedings; few, so that accounts change
	// places soon and the queue stays small.
	queued    = 1000
	feedAtOne = 100 // few, because others' writes wait where the ledger has one writer
)

// every does work over and over until ctx ends.
func (e *Engine) every(ctx context.Context, interval time.Duration, work func(context.Context) error) {
	e.ended.Go(func() {
		ticker := time.NewTicker(interval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			if err := work(ctx); err != nil && ctx.Err() == nil {
				e.Log.WarnContext(ctx, "durable work is held up", "error", err)
			}
		}
	})
}

// feed puts leads into the queue that wait in the ledger: those of the bulk lane
// and those of accounts that were paused.
func (e *Engine) feed(ctx context.Context) error {
	lanes, err := e.Store.Unqueued(ctx)
	if err != nil {
		return err
	}
	for _, lane := range lanes {
		for more := true; more && ctx.Err() == nil; {
			room, err := e.Store.Room(ctx, lane, queued)
			if err != nil {
				return err
			}
			if room < feedAtOne {
				break
			}
			var fed int
			err = e.Store.MakeWay(ctx, func(ctx context.Context, tx *sql.Tx) error {
				waiting, err := e.Store.Feed(ctx, tx, lane, feedAtOne, e.crowd.accounts())
				if err != nil {
					return err
				}
				fed = len(waiting)
				return e.queue.Submit(ctx, tx, enrichJobs(waiting)...)
			})
			if err != nil {
				return err
			}
			more = fed == feedAtOne
		}
	}
	return nil
}

// obeySwitches makes the queue's lanes stop and go as the ledger's switches say.
func (e *Engine) obeySwitches(ctx context.Context) error {
	stops, err := e.Stops(ctx)
	if err != nil {
		return err
	}
	for lane, paused := range e.crowd.obey(stops) {
		turn := e.queue.Resume
		if paused {
			turn = e.queue.Pause
		}
		if err := turn(ctx, lane); err != nil {
			e.crowd.unsure() // tried again with the next look
			return err
		}
	}
	return nil
}

// Stops lists what is stopped, by whomever.
func (e *Engine) Stops(ctx context.Context) ([]ledger.Switch, error) {
	stops, err := e.Store.Switches(ctx)
	if err == nil && e.Halts != nil {
		stops = append(stops, e.Halts()...)
	}
	return stops, err
}

// Pause stops work until Resume; in flight is finished.
func (e *Engine) Pause(ctx context.Context, scope ledger.Scope, name, reason string) error {
	if err := e.Store.TurnOff(ctx, ledger.Switch{Scope: scope, Name: name, Reason: reason}); err != nil {
		return err
	}
	return e.obeySwitches(ctx)
}

// Resume lets work go on.
func (e *Engine) Resume(ctx context.Context, scope ledger.Scope, name string) error {
	if err := e.Store.TurnOn(ctx, scope, name); err != nil {
		return err
	}
	return e.obeySwitches(ctx)
}

// rebuild puts every lead and delivery into the queue that should be there.
// What is there already stays as it is, so that it may run at any time: it makes
// a queue anew that was emptied.
func (e *Engine) rebuild(ctx context.Context) error {
	err := e.Store.EachWaiting(ctx, func(waiting []ledger.Waiting) error {
		return e.submit(ctx, enrichJobs(waiting))
	})
	if err != nil {
		return err
	}
	for after := ""; ; {
		pending, err := e.Store.PendingDeliveries(ctx, after, feedAtOne)
		if err != nil || len(pending) == 0 {
			return err
		}
		jobs := make([]Job, len(pending))
		for i, delivery := range pending {
			jobs[i] = Job{Kind: Deliver, Target: delivery.ID, Lane: deliverLane, Round: delivery.Revision}
		}
		if err := e.submit(ctx, jobs); err != nil {
			return err
		}
		after = pending[len(pending)-1].ID
	}
}

func enrichJobs(waiting []ledger.Waiting) []Job {
	jobs := make([]Job, len(waiting))
	for i, lead := range waiting {
		jobs[i] = Job{Kind: Enrich, Target: lead.ID, Lane: lead.Lane, Round: lead.Revision}
	}
	return jobs
}

func (e *Engine) submit(ctx context.Context, jobs []Job) error {
	return e.Store.MakeWay(ctx, func(ctx context.Context, tx *sql.Tx) error { return e.queue.Submit(ctx, tx, jobs...) })
}
