// Package jobs works accepted leads off: it puts them into a queue, has them
// enriched, and writes what came of each into the ledger together with the end
// of its job and with what is to be delivered.
//
// The ledger is the truth and the queue a convenience: a lead whose job is lost
// gets another, and a job whose lead somebody else has does nothing.
package jobs

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Kind is what a job does.
type Kind string

// The kinds of job.
const (
	Enrich  Kind = "enrich"  // works a lead
	Deliver Kind = "deliver" // hands a message to a sink
)

// deliverLane is the lane of deliveries, beside those of requests.
const deliverLane enrich.Lane = "deliver"

// Lanes are the lanes of the queue.
var Lanes = append(slices.Clone(enrich.Lanes), deliverLane)

// Job is one entry of the queue. It names its target and holds nothing of it.
type Job struct {
	Kind   Kind
	Target string // the id of a lead or delivery
	Lane   enrich.Lane
	// Round tells apart the jobs of a target that is worked again: the lead's
	// revision, or how often the delivery was reopened.
	Round int64
}

// Entry is a job as the queue knows it.
type Entry struct {
	Job
	ID       int64
	State    string // available, scheduled, running, retryable, completed, cancelled, discarded
	Attempt  int
	ReadyAt  time.Time
	LastWord string // the last error, "" without one
}

// Task is a job under way.
type Task struct {
	Job
	ID int64
}

// Handler does a task. The queue learns that a task is done some time after it
// was: when the process ends in between, the task is handed out once more, and
// finds in the ledger that nothing is left to do. Its error is nil, a [Later], or a failure of ours, after
// which the queue tries again.
type Handler func(ctx context.Context, task Task) error

// Later is the error of a task that is to run again after a while. It does not
// count as a failure.
type Later time.Duration

// Error says how long.
func (l Later) Error() string { return fmt.Sprintf("jobs: again in %s", time.Duration(l)) }

// Queue keeps jobs. A round of a target has one live job at most: putting it in
// again does nothing.
type Queue interface {
	// Submit puts jobs into the queue when tx commits.
	Submit(ctx context.Context, tx *sql.Tx, jobs ...Job) error
	// Pause stops a lane once what runs has ended; Resume lets it go on. Both
	// hold for all processes and survive restarts.
	Pause(ctx context.Context, lane enrich.Lane) error
	Resume(ctx context.Context, lane enrich.Lane) error
	// Forget deletes a job that does not run. ledger.ErrUnknown: no such job.
	Forget(ctx context.Context, id int64) error
	// List lists up to most jobs in one of the states, newest first; no state:
	// all.
	List(ctx context.Context, most int, states ...string) ([]Entry, error)
	// Stats counts the live jobs of each lane by state.
	Stats(ctx context.Context) (map[enrich.Lane]map[string]int, error)
	// Start works jobs until Stop, which waits for those that run, as long as
	// they may take to end in order.
	Start(ctx context.Context) error
	Stop(ctx context.Context) error
}
