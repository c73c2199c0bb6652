package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

var (
	// ErrTaken is the error of work that somebody else has, or that has ended.
	ErrTaken = errors.New("ledger: the lead is not waiting")
	// ErrLost is the error of a worker whose lead was given to another.
	ErrLost = errors.New("ledger: the lead was taken over")
	// ErrLive is the error of a lead that is waiting or being worked already.
	ErrLive = errors.New("ledger: the lead is in work already")
	// errText is the error of a text that PostgreSQL does not take: SQLite would,
	// and could not be copied then.
	errText = errors.New("ledger: a text holds a NUL or is not UTF-8")
	// ErrUnknown is the error of an id that nothing has.
	ErrUnknown = errors.New("ledger: unknown id")
)

// wish is a claim that somebody asks for.
type wish struct {
	id  string
	ttl time.Duration
}

// Claim gives a waiting lead to this process for ttl, or one whose holder has
// had it for longer than that. ErrTaken: neither. Claims for the bulk lane make
// way for those of the others.
func (s *Store) Claim(ctx context.Context, id string, lane enrich.Lane, ttl time.Duration) (Lead, error) {
	claims := s.claims
	if lane == enrich.Bulk {
		claims = s.patientClaims
	}
	lead, err := claims.Ask(ctx, wish{id, ttl})
	switch {
	case err != nil:
		return Lead{}, fmt.Errorf("ledger: claim: %w", err)
	case lead.ID == "":
		return Lead{}, ErrTaken
	}
	lead.Crashed = lead.Reason == reasonCrashed
	return lead, nil
}

// claimer claims what is wished for, as far as it can be had; the lead of what
// cannot is empty.
func (s *Store) claimer(write Writing) func(context.Context, []wish) ([]Lead, error) {
	return func(ctx context.Context, wishes []wish) (leads []Lead, err error) {
		err = write(ctx, func(ctx context.Context, tx *sql.Tx) error {
			leads, err = s.claim(ctx, tx, wishes)
			return err
		})
		return leads, err
	}
}

func (s *Store) claim(ctx context.Context, tx *sql.Tx, wishes []wish) ([]Lead, error) {
	now := time.Now()
	var cells []any
	ids := make([]string, len(wishes))
	for i, wish := range wishes {
		ids[i] = wish.id
		cells = append(cells, wish.id, millis(now.Add(-wish.ttl)), millis(now), s.node)
	}
	if err := s.hold(ctx, tx, "leads", ids); err != nil {
		return nil, err
	}
	operand, args := s.operand(4, cells)
	rows, err := tx.QueryContext(ctx, `UPDATE leads SET reason = CASE WHEN state = 'processing' THEN 'crashed' ELSE reason END,
		state = 'processing', processing_started_at = wish.column3, owner = wish.column4, attempts = attempts + 1, fence = fence + 1, queued = 1
		FROM (`+operand+`) AS wish
		WHERE id = wish.column1 AND (state = 'none' OR (state = 'processing' AND processing_started_at < wish.column2))
		RETURNING `+leadColumns, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	had := map[string]Lead{}
	for rows.Next() {
		lead, err := scanLead(rows)
		if err != nil {
			return nil, err
		}
		had[lead.ID] = lead
	}
	leads := make([]Lead, len(wishes))
	for i, wish := range wishes {
		leads[i] = had[wish.id]
		delete(had, wish.id) // whoever asked first has it
	}
	return leads, rows.Err()
}

// PutBack makes a claimed lead wait again for the reason of the ending, and adds
// its cost. Unless counts, the attempt was none: the world was not ready.
func (s *Store) PutBack(ctx context.Context, tx *sql.Tx, lead Lead, ending Ending, counts bool) error {
	less := 1
	if counts {
		less = 0
	}
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = $1, owner = '', processing_started_at = 0,
		attempts = attempts - $2, cost_micros = cost_micros + $3 WHERE id = $4 AND fence = $5 AND state = 'processing'`,
		ending.Reason, less, ending.Cost, lead.ID, lead.Fence)
	return oneRow(result, err, ErrLost)
}

// Cancel ends a lead that has not ended, for the given reason.
func (s *Store) Cancel(ctx context.Context, tx *sql.Tx, id, reason string) error {
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'cancelled', reason = $1, owner = '', processing_started_at = 0,
		fence = fence + 1, finished_at = $2 WHERE id = $3 AND state IN ('none', 'processing')`, reason, millis(time.Now()), id)
	return oneRow(result, err, ErrTaken)
}

// Lose gives up a lead that is waiting, or whose worker is, because nothing works
// it any more. ErrLost: somebody took it meanwhile.
func (s *Store) Lose(ctx context.Context, tx *sql.Tx, lead Lead, reason string) error {
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'error', reason = $1, owner = '', processing_started_at = 0,
		fence = fence + 1, finished_at = $2 WHERE id = $3 AND fence = $4 AND state IN ('none', 'processing')`,
		reason, millis(time.Now()), lead.ID, lead.Fence)
	return oneRow(result, err, ErrLost)
}

// reasonCrashed is the reason of a waiting lead whose worker was lost.
const reasonCrashed = "crashed"

// TakeBack makes the leads wait again that this process had when it ended. Their
// attempts count: what ends the process must run out of tries.
func (s *Store) TakeBack(ctx context.Context) (count int64, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.holdWhere(ctx, tx, "leads", `state = 'processing' AND owner = $1`, s.node); err != nil {
			return err
		}
		result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = 'crashed', owner = '', processing_started_at = 0,
			fence = fence + 1 WHERE state = 'processing' AND owner = $1`, s.node)
		if err != nil {
			return err
		}
		count, err = result.RowsAffected()
		return err
	})
	if err != nil {
		err = fmt.Errorf("ledger: take back: %w", err)
	}
	return count, err
}

// Reset takes a lead from its worker, which writes nothing any more, so that it
// can be worked again.
func (s *Store) Reset(ctx context.Context, tx *sql.Tx, id string) error {
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = 'reset', owner = '', processing_started_at = 0, queued = 1,
		fence = fence + 1, revision = revision + 1 WHERE id = $1 AND state = 'processing'`, id)
	return oneRow(result, err, ErrTaken)
}

// oneRow returns none when a statement changed no row.
func oneRow(result sql.Result, err, none error) error {
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	if changed, err := result.RowsAffected(); err != nil {
		return fmt.Errorf("ledger: %w", err)
	} else if changed == 0 {
		return none
	}
	return nil
}
