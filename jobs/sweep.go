package jobs

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/rivertype"

	"github.com/enrichd/enrichd/enrich"
)

// sweepPage is how many orphans are taken up at once.
const sweepPage = 1000

// sweep makes the jobs and leads ready again that this process had when it
// ended, before it works: it takes seconds instead of the time after which
// others would notice. The crash counts as an attempt, so that what ends the
// process runs out of them.
//
// It uses the statements of River's own rescuer, which its driver offers without
// promise.
func (q *queue) sweep(ctx context.Context) error {
	executor := q.client.Driver().GetExecutor()
	now := time.Now()
	for after := int64(0); ; {
		running, err := executor.JobGetStuck(ctx, &riverdriver.JobGetStuckParams{AfterID: after, Max: sweepPage, StuckHorizon: now})
		if err != nil {
			return fmt.Errorf("jobs: sweep: %w", err)
		}
		if len(running) == 0 {
			break
		}
		after = running[len(running)-1].ID
		orphans := slices.DeleteFunc(running, func(job *rivertype.JobRow) bool { return !q.isOurs(job) })
		if len(orphans) == 0 {
			continue
		}
		rescue := &riverdriver.JobRescueManyParams{StuckHorizon: now}
		for _, job := range orphans {
			word, err := json.Marshal(rivertype.AttemptError{At: now, Attempt: job.Attempt, Error: "the process ended"})
			if err != nil {
				return fmt.Errorf("jobs: sweep: %w", err)
			}
			rescue.ID = append(rescue.ID, job.ID)
			rescue.Error = append(rescue.Error, word)
			rescue.FinalizedAt = append(rescue.FinalizedAt, nil)
			rescue.ScheduledAt = append(rescue.ScheduledAt, now)
			rescue.State = append(rescue.State, string(rivertype.JobStateAvailable))
		}
		if _, err := executor.JobRescueMany(ctx, rescue); err != nil {
			return fmt.Errorf("jobs: sweep: %w", err)
		}
	}
	_, err := q.store.TakeBack(ctx)
	return err
}

// isOurs tells whether this process had the job: of a file nobody else can have
// one, in a shared database it stands in the row.
func (q *queue) isOurs(job *rivertype.JobRow) bool {
	return q.store.IsSQLite() || len(job.AttemptedBy) > 0 && job.AttemptedBy[len(job.AttemptedBy)-1] == q.client.ID()
}

func entry(job *rivertype.JobRow) Entry {
	var args target
	_ = json.Unmarshal(job.EncodedArgs, &args) // a job of another program has no target
	e := Entry{Job: Job{Kind: Kind(job.Kind), Target: args.Target, Round: args.Round}, ID: job.ID, State: string(job.State), Attempt: job.Attempt, ReadyAt: job.ScheduledAt}
	e.Lane = enrich.Lane(job.Queue)
	if len(job.Errors) > 0 {
		e.LastWord = job.Errors[len(job.Errors)-1].Error
	}
	return e
}
