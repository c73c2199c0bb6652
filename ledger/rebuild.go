package ledger

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/enrichd/enrichd/enrich"
)

// Waiting is a lead that should have a job.
type Waiting struct {
	ID   string
	Lane enrich.Lane
	// Revision of the lead; of a delivery, how often it was reopened.
	Revision int64
}

// EachWaiting calls each with pages of the leads that wait for a worker and were
// put into the queue: whoever puts them there again rebuilds a queue that was
// emptied.
func (s *Store) EachWaiting(ctx context.Context, each func([]Waiting) error) error {
	const page = 500
	after := ""
	for {
		rows, err := s.reader.QueryContext(ctx, `SELECT id, lane, revision FROM leads WHERE state = 'none' AND queued = 1 AND id > $1 ORDER BY id LIMIT $2`, after, page)
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
		if err := rows.Scan(&w.ID, &w.Lane, &w.Revision); err != nil {
			return nil, err
		}
		waiting = append(waiting, w)
	}
	return waiting, rows.Err()
}

// PendingDeliveries lists deliveries that should have a job.
func (s *Store) PendingDeliveries(ctx context.Context, after string, most int) ([]Waiting, error) {
	rows, err := s.reader.QueryContext(ctx, `SELECT id, '', reopened FROM outbox WHERE state = 'pending' AND id > $1 ORDER BY id LIMIT $2`, after, most)
	if err != nil {
		return nil, fmt.Errorf("ledger: deliveries: %w", err)
	}
	waiting, err := scanWaiting(rows)
	if err != nil {
		return nil, fmt.Errorf("ledger: deliveries: %w", err)
	}
	return waiting, nil
}
