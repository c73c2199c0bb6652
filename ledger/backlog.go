package ledger

import (
	"context"
	"fmt"
	"time"
)

// Backlog is what waits to be delivered to a sink.
type Backlog struct {
	Sink       string
	Deliveries int64
	Oldest     time.Time // its creation
}

// Backlogs counts the deliveries that are pending, by sink.
func (s *Store) Backlogs(ctx context.Context) (all []Backlog, err error) {
	ctx, cancel := s.bound(ctx, reportsWithin)
	defer cancel()
	// Grouped by the column itself, SQLite would walk the index of all deliveries.
	rows, err := s.reader.QueryContext(ctx, `SELECT sink || '', COUNT(*), MIN(created_at) FROM outbox WHERE state = 'pending' GROUP BY sink || '' ORDER BY 1`)
	if err != nil {
		return nil, fmt.Errorf("ledger: backlogs: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var b Backlog
		var oldest int64
		if err := rows.Scan(&b.Sink, &b.Deliveries, &oldest); err != nil {
			return nil, fmt.Errorf("ledger: backlogs: %w", err)
		}
		b.Oldest = fromMillis(oldest)
		all = append(all, b)
	}
	return all, rows.Err()
}
