package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// nameWait is how long a process asks for a name that another has: the
// connections of one that was killed end a moment after it.
const nameWait = 2 * time.Second

// nameLook is how often it asks.
const nameLook = 50 * time.Millisecond

// TakeName makes this process the only one that works under its name, for as long
// as the Store is open. If another does so for longer than a moment, this one is
// called otherwise: its name and a number. Whoever works calls it first. Of a file
// nobody else can be.
func (s *Store) TakeName(ctx context.Context) error {
	if s.sqlite {
		return nil
	}
	configured, end := s.node, time.Now().Add(nameWait)
	for number := 2; ; {
		err := s.takeName(ctx)
		switch {
		case !errors.Is(err, ErrTaken):
			return err
		case time.Now().After(end):
			s.node = fmt.Sprintf("%s-%d", configured, number)
			number++
			continue
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ledger: name: %w", ctx.Err())
		case <-time.After(nameLook):
		}
	}
}

// takeName writes down who has the name, unless somebody has it: ErrTaken. Names
// whose processes have no connection any more are given back.
func (s *Store) takeName(ctx context.Context) error {
	return s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM settings WHERE name LIKE 'node:%' AND NOT EXISTS (`+openLocks+` AND objid::text = value)`, int32(openLock))
		if err != nil {
			return fmt.Errorf("ledger: name: %w", err)
		}
		result, err := tx.ExecContext(ctx, `INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`,
			"node:"+s.node, fmt.Sprint(s.opener))
		return oneRow(result, err, ErrTaken)
	})
}
