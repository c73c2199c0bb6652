package ledger

import (
	"context"
	"time"
)

// ReadOlderState keeps reading the ledger as it is now, until end.
func (s *Store) ReadOlderState(ctx context.Context) (end func() error, err error) {
	tx, err := s.reader.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	var leads int
	return tx.Rollback, tx.QueryRow(`SELECT COUNT(*) FROM leads`).Scan(&leads)
}

// WaitAtMost bounds how long the Store waits for PostgreSQL.
func (s *Store) WaitAtMost(within time.Duration) { s.within = within }
