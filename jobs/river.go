package jobs

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverdatabasesql"
	"github.com/riverqueue/river/riverdriver/riversqlite"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// The settings of the engine that nobody needs to change.
const (
	fetchCooldown   = 20 * time.Millisecond  // each fetch of a lane is a write
	lookInterval    = 100 * time.Millisecond // at the lanes
	fetchInterval   = 2 * time.Second        // where a look failed
	maxFailures     = 8                      // of our own, such as a database that is away; a lead's tries are counted in the ledger
	keepCompleted   = 5 * time.Minute        // nobody asks for them, and others are found faster without
	keepCancelled   = 7 * 24 * time.Hour
	keepDiscarded   = -1 // the reconciler looks at them
	softStop        = 20 * time.Second
	firstFailureFor = time.Second
	longestFailure  = 5 * time.Minute
	rescueAfter     = 30 * time.Second // beyond the longest that a job may take
	operateWithin   = 10 * time.Second // what an operator asks of a PostgreSQL that may hang
)

// unasked drops the engine's indexes by which its own web page searches jobs, and
// nobody here: each of the three changes of a job's row wrote to both, a fifth of
// what the engine costs PostgreSQL. SQLite never had them.
const unasked = `DROP INDEX IF EXISTS river_job_args_index, river_job_metadata_index`

// liveStates are those in which a target has a job: one that ended may get
// another.
var liveStates = []rivertype.JobState{rivertype.JobStateAvailable, rivertype.JobStatePending, rivertype.JobStateRunning,
	rivertype.JobStateRetryable, rivertype.JobStateScheduled}

// queue is a Queue on River, in the database of the ledger.
type queue struct {
	client *river.Client[*sql.Tx]
	store  *ledger.Store
	watch  *watch
}

// target is the arguments of a job: they are no place for people.
type target struct {
	Target string `json:"target" river:"unique"`
	Round  int64  `json:"round" river:"unique"`
}

func (t target) get() target { return t }

type enrichArgs struct{ target }

func (enrichArgs) Kind() string { return string(Enrich) }

type deliverArgs struct{ target }

func (deliverArgs) Kind() string { return string(Deliver) }

type targeted interface {
	river.JobArgs
	get() target
}

// worker runs a Handler as River's worker.
type worker[A targeted] struct {
	river.WorkerDefaults[A]
	handle Handler
}

// Work does one job.
func (w *worker[A]) Work(ctx context.Context, job *river.Job[A]) error {
	args := job.Args.get()
	err := w.handle(ctx, Task{Job: Job{Kind: Kind(job.Kind), Target: args.Target, Lane: enrich.Lane(job.Queue), Round: args.Round}, ID: job.ID})
	var later Later
	if errors.As(err, &later) {
		return river.JobSnooze(time.Duration(later))
	}
	return err
}

// backoff spaces failures of our own, with full jitter.
type backoff struct{}

// NextRetry is when a failed job runs again.
func (backoff) NextRetry(job *rivertype.JobRow) time.Time {
	longest := min(firstFailureFor<<min(job.Attempt, 16), longestFailure)
	return time.Now().Add(rand.N(longest))
}

// newQueue makes the queue's tables and a queue that is not started.
func newQueue(ctx context.Context, store *ledger.Store, config Config, handlers map[Kind]Handler, log *slog.Logger) (*queue, error) {
	var driver riverdriver.Driver[*sql.Tx] = riverdatabasesql.New(store.Pool())
	if store.IsSQLite() {
		driver = riversqlite.New(store.Pool())
	}
	watch := newWatch(store)
	driver = watched{driver, watch}
	if err := store.TakeName(ctx); err != nil {
		return nil, err
	}
	err := store.Exclusively(ctx, func(ctx context.Context) error {
		migrator, err := rivermigrate.New(driver, &rivermigrate.Config{Logger: log})
		if err != nil {
			return err
		}
		if _, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil || store.IsSQLite() {
			return err
		}
		_, err = store.Pool().ExecContext(ctx, unasked)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: tables of the queue: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker[enrichArgs]{handle: handlers[Enrich]})
	river.AddWorker(workers, &worker[deliverArgs]{handle: handlers[Deliver]})
	queues := map[string]river.QueueConfig{}
	for _, lane := range Lanes {
		queues[string(lane)] = river.QueueConfig{MaxWorkers: config.workers(lane), FetchCooldown: fetchCooldown, FetchPollInterval: fetchInterval}
	}
	client, err := river.NewClient(driver, &river.Config{
		ID:                          store.Node(),
		Queues:                      queues,
		Workers:                     workers,
		MaxAttempts:                 maxFailures,
		JobTimeout:                  config.AttemptTimeout,
		RescueStuckJobsAfter:        config.AttemptTimeout + rescueAfter,
		CompletedJobRetentionPeriod: keepCompleted,
		CancelledJobRetentionPeriod: keepCancelled,
		DiscardedJobRetentionPeriod: keepDiscarded,
		SoftStopTimeout:             softStop,
		RetryPolicy:                 backoff{},
		Logger:                      log,
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: queue: %w", err)
	}
	return &queue{client: client, store: store, watch: watch}, nil
}

// Start takes up what this process left behind, then works.
func (q *queue) Start(ctx context.Context) error {
	if err := q.sweep(ctx); err != nil {
		return err
	}
	return q.client.Start(context.WithoutCancel(ctx))
}

// Stop lets running jobs end.
func (q *queue) Stop(ctx context.Context) error {
	q.watch.stop() // River waits for a look that hangs
	return q.client.Stop(ctx)
}

// Submit puts jobs into the queue when tx commits.
func (q *queue) Submit(ctx context.Context, tx *sql.Tx, jobs ...Job) error {
	if len(jobs) == 0 {
		return nil
	}
	params := make([]river.InsertManyParams, len(jobs))
	for i, job := range jobs {
		to := target{Target: job.Target, Round: job.Round}
		var args river.JobArgs = enrichArgs{to}
		if job.Kind == Deliver {
			args = deliverArgs{to}
		}
		params[i] = river.InsertManyParams{Args: args, InsertOpts: &river.InsertOpts{
			Queue:      string(job.Lane),
			UniqueOpts: river.UniqueOpts{ByArgs: true, ByState: liveStates},
		}}
	}
	if _, err := q.client.InsertManyFastTx(ctx, tx, params); err != nil {
		return fmt.Errorf("jobs: submit: %w", err)
	}
	return nil
}

// ask asks the engine for an operator, within a time where a PostgreSQL may hang.
// What the engine asks on its own it bounds itself.
func (q *queue) ask(ctx context.Context, question func(context.Context) error) error {
	if !q.store.IsSQLite() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, operateWithin)
		defer cancel()
	}
	err := question(ctx)
	if errors.Is(err, rivertype.ErrNotFound) {
		return ledger.ErrUnknown
	}
	return err
}

// Pause stops a lane.
func (q *queue) Pause(ctx context.Context, lane enrich.Lane) error {
	err := q.ask(ctx, func(ctx context.Context) error { return q.client.QueuePause(ctx, string(lane), nil) })
	if err == nil {
		q.watch.turn("pause", lane)
	}
	return err
}

// Resume lets a lane go on.
func (q *queue) Resume(ctx context.Context, lane enrich.Lane) error {
	err := q.ask(ctx, func(ctx context.Context) error { return q.client.QueueResume(ctx, string(lane), nil) })
	if err == nil {
		q.watch.turn("resume", lane)
	}
	return err
}

// Forget deletes a job.
func (q *queue) Forget(ctx context.Context, id int64) error {
	return q.ask(ctx, func(ctx context.Context) error {
		_, err := q.client.JobDelete(ctx, id)
		return err
	})
}

// List lists jobs.
func (q *queue) List(ctx context.Context, most int, states ...string) ([]Entry, error) {
	params := river.NewJobListParams().First(most).OrderBy(river.JobListOrderByID, river.SortOrderDesc)
	if len(states) > 0 {
		wanted := make([]rivertype.JobState, len(states))
		for i, state := range states {
			wanted[i] = rivertype.JobState(state)
		}
		params = params.States(wanted...)
	}
	var found *river.JobListResult
	err := q.ask(ctx, func(ctx context.Context) (err error) {
		found, err = q.client.JobList(ctx, params)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: list: %w", err)
	}
	entries := make([]Entry, len(found.Jobs))
	for i, job := range found.Jobs {
		entries[i] = entry(job)
	}
	return entries, nil
}

// Stats counts the live jobs.
func (q *queue) Stats(ctx context.Context) (map[enrich.Lane]map[string]int, error) {
	stats := map[enrich.Lane]map[string]int{}
	for _, lane := range Lanes {
		stats[lane] = map[string]int{}
	}
	names := make([]string, len(Lanes))
	for i, lane := range Lanes {
		names[i] = string(lane)
	}
	var counts []*riverdriver.JobCountByQueueAndStateResult
	err := q.ask(ctx, func(ctx context.Context) (err error) {
		counts, err = q.client.Driver().GetExecutor().JobCountByQueueAndState(ctx, &riverdriver.JobCountByQueueAndStateParams{QueueNames: names})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("jobs: stats: %w", err)
	}
	for _, count := range counts {
		stats[enrich.Lane(count.Queue)][string(rivertype.JobStateAvailable)] = int(count.CountAvailable)
		stats[enrich.Lane(count.Queue)][string(rivertype.JobStateRunning)] = int(count.CountRunning)
	}
	return stats, nil
}
