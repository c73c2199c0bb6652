package ledger

import (
	"context"
	"database/sql"
)

// hold locks rows of leads or of the outbox in the order in which everybody does,
// leads first, so that transactions that change several cannot wait for each
// other. SQLite has one writer.
func (s *Store) hold(ctx context.Context, tx *sql.Tx, table string, ids []string) error {
	if s.sqlite || len(ids) < 2 {
		return nil
	}
	return s.holdWhere(ctx, tx, table, `id = ANY($1)`, ids)
}

// holdWhere is hold for the rows that meet a condition.
func (s *Store) holdWhere(ctx context.Context, tx *sql.Tx, table, condition string, arg any) error {
	if s.sqlite {
		return nil
	}
	_, err := tx.ExecContext(ctx, `SELECT 1 FROM `+table+` WHERE `+condition+s.forUpdate(), arg)
	return err
}

// forUpdate locks the selected rows where others could change them.
func (s *Store) forUpdate() string {
	if s.sqlite {
		return ""
	}
	return " ORDER BY id FOR UPDATE"
}

// passingOver locks the selected rows, without those that somebody has locked:
// they are taken another time. It ends a query of its own (WITH): PostgreSQL may
// run one inside a condition again for every row.
func (s *Store) passingOver() string {
	if s.sqlite {
		return ""
	}
	return " FOR UPDATE SKIP LOCKED"
}
