package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// tables lists all tables but the settings.
var tables = []string{"leads", "shares", "answers", "charges", "timeline_ends", "timeline", "outbox", "outbox_heads", "dead_letters",
	"imports", "import_rows", "events", "switches"}

// copyPage is how many rows are copied with one statement.
const copyPage = 200

// ErrNotEmpty is the error of copying into a ledger that has leads.
var ErrNotEmpty = errors.New("ledger: the ledger to copy into is not empty")

// CopyTo copies everything into an empty ledger of either kind. ErrInUse: another
// process has one of them open, and must be stopped. The queue is not copied: it is rebuilt
// from the ledger when work starts. A copy that failed is begun anew with an
// empty database.
func (s *Store) CopyTo(ctx context.Context, to *Store) error {
	for _, ledger := range []*Store{s, to} {
		if err := ledger.alone(ctx); err != nil {
			return fmt.Errorf("ledger: copy: %w", err)
		}
	}
	var leads int64
	if err := to.reader.QueryRowContext(ctx, `SELECT COUNT(*) FROM leads`).Scan(&leads); err != nil {
		return fmt.Errorf("ledger: copy: %w", err)
	}
	if leads > 0 {
		return ErrNotEmpty
	}
	for _, table := range tables {
		if err := s.copyTable(ctx, to, table); err != nil {
			return fmt.Errorf("ledger: copy %s: %w", table, err)
		}
	}
	if err := s.copySettings(ctx, to); err != nil {
		return fmt.Errorf("ledger: copy settings: %w", err)
	}
	to.secret = s.secret
	return nil
}

// copySettings copies the secret and the program's marks, over those that the
// other ledger has.
func (s *Store) copySettings(ctx context.Context, to *Store) error {
	rows, err := s.reader.QueryContext(ctx, `SELECT name, value FROM settings`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var cells []any
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			return err
		}
		cells = append(cells, name, value)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return to.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		operand, args := to.operand(2, cells)
		_, err := tx.ExecContext(ctx, `INSERT INTO settings (name, value) `+operand+` ON CONFLICT (name) DO UPDATE SET value = excluded.value`, args...)
		return err
	})
}

func (s *Store) copyTable(ctx context.Context, to *Store, table string) error {
	rows, err := s.reader.QueryContext(ctx, `SELECT * FROM `+table)
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	var args []any
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		err := to.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			operand, args := to.operand(len(columns), args)
			_, err := tx.ExecContext(ctx, `INSERT INTO `+table+` (`+strings.Join(columns, ", ")+`) `+operand, args...)
			return err
		})
		args = args[:0]
		return err
	}
	for rows.Next() {
		cells := make([]any, len(columns))
		into := make([]any, len(columns))
		for i := range cells {
			into[i] = &cells[i]
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if args = append(args, cells...); len(args) == copyPage*len(columns) {
			if err := flush(); err != nil {
				return err
			}
		}
	}
	return errors.Join(rows.Err(), flush())
}
