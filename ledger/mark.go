package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Mark returns a note of the program's to itself, such as the day of the last
// digest; "": none.
func (s *Store) Mark(ctx context.Context, name string) (value string, err error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	err = s.reader.QueryRowContext(ctx, `SELECT value FROM settings WHERE name = $1`, "mark:"+name).Scan(&value)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("ledger: mark: %w", err)
	}
	return value, nil
}

// SetMark writes a note down.
func (s *Store) SetMark(ctx context.Context, name, value string) error {
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value`, "mark:"+name, value)
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: mark: %w", err)
	}
	return nil
}

// ReplaceMark writes a note down if it still says what it did before; "": there
// was none. It returns whether it did: of many who try with the same note, one.
func (s *Store) ReplaceMark(ctx context.Context, name, before, value string) (replaced bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2)
			ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE settings.value = $3`, "mark:"+name, value, before)
		err = oneRow(result, err, ErrTaken)
		replaced = err == nil
		if errors.Is(err, ErrTaken) {
			return nil
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("ledger: mark: %w", err)
	}
	return replaced, nil
}
