package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// reasonErased is the reason of what an erasure ended.
const reasonErased = "erased"

// EraseSubject removes what is known about a subject from every table: waiting
// work and deliveries are cancelled, answers and the timeline deleted, personal
// data emptied. What stays are rows without a name: states, counts, charges.
// It tells how many leads the subject had. An error beside a number concerns
// what stays of it in SQLite's log until the next Wipe.
func (s *Store) EraseSubject(ctx context.Context, subject string) (leads int64, err error) {
	now := millis(time.Now())
	err = s.write(ctx, reportsWithin, func(ctx context.Context, tx *sql.Tx) error {
		for _, table := range []string{"leads", "outbox"} {
			if err := s.holdWhere(ctx, tx, table, `subject = $1`, subject); err != nil {
				return err
			}
		}
		if err := s.holdAnswers(ctx, tx, []string{subject}); err != nil {
			return err
		}
		for _, statement := range []struct {
			text string
			args []any
		}{
			{`UPDATE leads SET state = 'cancelled', reason = $2, owner = '', processing_started_at = 0, fence = fence + 1, finished_at = $3
				WHERE subject = $1 AND state IN ('none', 'processing', 'error')`, []any{subject, reasonErased, now}},
			{`UPDATE outbox SET state = 'cancelled', reason = $2, ended_at = $3 WHERE subject = $1 AND state IN ('pending', 'error')`,
				[]any{subject, reasonErased, now}},
			{`UPDATE outbox SET payload = '', subject = '' WHERE subject = $1`, []any{subject}},
			{`DELETE FROM outbox_heads WHERE subject = $1`, []any{subject}},
			{`UPDATE dead_letters SET resolved_at = $2, resolution = $3 WHERE subject = $1 AND resolved_at = 0`, []any{subject, now, reasonErased}},
			{`UPDATE dead_letters SET subject = '', message = '', note = '' WHERE subject = $1`, []any{subject}},
			{`DELETE FROM answers WHERE subject = $1`, []any{subject}},
			{`DELETE FROM timeline WHERE subject = $1`, []any{subject}},
			{`DELETE FROM timeline_ends WHERE subject = $1`, []any{subject}},
			{`DELETE FROM events WHERE lead IN (SELECT id FROM leads WHERE subject = $1)`, []any{subject}},
		} {
			if _, err := tx.ExecContext(ctx, statement.text, statement.args...); err != nil {
				return err
			}
		}
		// The idempotency key is a hash of the address, so it goes as well.
		result, err := tx.ExecContext(ctx, `UPDATE leads SET email = '', contact = '', result = '', subject = '', idem_key = 'erased:' || id
			WHERE subject = $1`, subject)
		if err != nil {
			return err
		}
		leads, err = result.RowsAffected()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("ledger: erase: %w", err)
	}
	s.unwiped.Store(true)
	return leads, s.Wipe(ctx)
}
