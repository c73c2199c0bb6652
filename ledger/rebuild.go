package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Waiting is a lead that should have a job.
type Waiting struct {
	ID   string
	Lane enrich.Lane
}

// EachWaiting calls each with pages of the leads that wait for a worker and were
// put into the queue: whoever puts them there again rebuilds a queue that was
// emptied.
func (s *Store) EachWaiting(ctx context.Context, each func([]Waiting) error) error {
	const page = 500
	after := ""
	for {
		rows, err := s.reader.QueryContext(ctx, `SELECT id, lane FROM leads WHERE state = 'none' AND queued = 1 AND id > $1 ORDER BY id LIMIT $2`, after, page)
		if err != nil {
			return fmt.Errorf("ledger: waiting: %w", err)
		}
		waiting, err := scanWaiting(rows)
		if err != nil {
			return fmt.Errorf("ledger: waiting: %w", err)
		}
		if len(waiting) == 0 {
			return nil
		}
		if err := each(waiting); err != nil {
			return err
		}
		after = waiting[len(waiting)-1].ID
	}
}

func scanWaiting(rows *sql.Rows) (waiting []Waiting, err error) {
	defer rows.Close()
	for rows.Next() {
		var w Waiting
		if err := rows.Scan(&w.ID, &w.Lane); err != nil {
			return nil, err
		}
		waiting = append(waiting, w)
	}
	return waiting, rows.Err()
}

// PendingDeliveries lists deliveries that should have a job.
func (s *Store) PendingDeliveries(ctx context.Context, after string, most int) (ids []string, err error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT id FROM outbox WHERE state = 'pending' AND id > $1 ORDER BY id LIMIT $2`, after, most)
	if err != nil {
		return nil, fmt.Errorf("ledger: deliveries: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("ledger: deliveries: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// Retention says how long what has ended is kept. A zero duration keeps for ever.
type Retention struct {
	// Answers beyond their own time and events that came in.
	Events time.Duration `yaml:"events"`
	// Leads that have ended, with their deliveries and resolved dead letters.
	Leads time.Duration `yaml:"leads"`
	// Charges.
	Charges time.Duration `yaml:"charges"`
	// Timeline events.
	Timeline time.Duration `yaml:"timeline"`
}

// Tidy deletes what has been kept long enough.
func (s *Store) Tidy(ctx context.Context, keep Retention) error {
	now := time.Now()
	statements := []struct {
		text  string
		after time.Duration
		on    bool
	}{
		{`DELETE FROM answers WHERE keep_until < $1`, 0, true},
		{`DELETE FROM switches WHERE paused_until < $1`, 0, true},
		{`DELETE FROM events WHERE received_at < $1`, keep.Events, keep.Events > 0},
		{`DELETE FROM timeline WHERE at < $1`, keep.Timeline, keep.Timeline > 0},
		{`DELETE FROM charges WHERE charged_at < $1`, keep.Charges, keep.Charges > 0},
		{`DELETE FROM outbox WHERE state <> 'pending' AND state <> 'error' AND ended_at < $1`, keep.Leads, keep.Leads > 0},
		{`DELETE FROM dead_letters WHERE resolved_at > 0 AND resolved_at < $1`, keep.Leads, keep.Leads > 0},
		{`DELETE FROM leads WHERE state IN ('done', 'partial', 'not_found', 'cancelled') AND finished_at < $1`, keep.Leads, keep.Leads > 0},
	}
	for _, statement := range statements {
		if !statement.on {
			continue
		}
		err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, statement.text, millis(now.Add(-statement.after)))
			return err
		})
		if err != nil {
			return fmt.Errorf("ledger: tidy: %w", err)
		}
	}
	return nil
}
