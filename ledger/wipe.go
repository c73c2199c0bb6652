package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Wipe empties the log of SQLite when it may still hold what was erased: the file
// itself is overwritten, and the log keeps what it was given until it is begun
// anew. While somebody reads an older state it waits for the next call; it never
// waits for a reader, because everybody who writes would.
func (s *Store) Wipe(ctx context.Context) error {
	if !s.sqlite || !s.unwiped.Swap(false) {
		return nil
	}
	read, err := s.emptyLog(ctx)
	if err != nil || read {
		s.unwiped.Store(true)
	}
	if err != nil {
		return fmt.Errorf("ledger: wipe: %w", err)
	}
	return nil
}

// emptyLog tells whether the log could not be emptied because it was read.
func (s *Store) emptyLog(ctx context.Context) (read bool, err error) {
	conn, err := s.writer.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return false, err
	}
	var log, copied sql.NullInt64
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&read, &log, &copied)
	_, after := conn.ExecContext(context.WithoutCancel(ctx), "PRAGMA "+busyTimeout)
	return read, errors.Join(err, after)
}
