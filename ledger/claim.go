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
	// ErrUnknown is the error of an id that nothing has.
	ErrUnknown = errors.New("ledger: unknown id")
)

// Claim gives a waiting lead to this process for ttl, or one whose holder has
// had it for longer than that. ErrTaken: neither.
func (s *Store) Claim(ctx context.Context, id string, ttl time.Duration) (Lead, error) {
	var lead Lead
	err := s.oneStatement(ctx, func(ctx context.Context, on querier) (err error) {
		now := time.Now()
		lead, err = scanLead(on.QueryRowContext(ctx, `UPDATE leads SET reason = CASE WHEN state = 'processing' THEN 'crashed' ELSE reason END,
			state = 'processing', processing_started_at = $1, owner = $2, attempts = attempts + 1, fence = fence + 1, queued = 1
			WHERE id = $3 AND (state = 'none' OR (state = 'processing' AND processing_started_at < $4))
			RETURNING `+leadColumns, millis(now), s.node, id, millis(now.Add(-ttl))))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return Lead{}, ErrTaken
	} else if err != nil {
		return Lead{}, fmt.Errorf("ledger: claim: %w", err)
	}
	lead.Crashed = lead.Reason == reasonCrashed
	return lead, nil
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

// Ending is how an attempt at a claimed lead ends.
type Ending struct {
	// State in which the lead ends.
	State  State
	Reason string
	// Cost of the attempt.
	Cost enrich.Micros
	// Result as JSON; nil leaves the one of before.
	Result []byte
}

// End ends a claimed lead. Again is true when somebody asked for more while it
// was worked: it waits again then, and the caller sees that it is worked.
func (s *Store) End(ctx context.Context, tx *sql.Tx, lead Lead, ending Ending) (again bool, err error) {
	var revision int64
	err = tx.QueryRowContext(ctx, `UPDATE leads SET state = $1, reason = $2, cost_micros = cost_micros + $3,
		result = CASE WHEN $4 = '' THEN result ELSE $4 END, owner = '', processing_started_at = 0, finished_at = $5
		WHERE id = $6 AND fence = $7 AND state = 'processing' RETURNING revision`,
		ending.State, ending.Reason, ending.Cost, string(ending.Result), millis(time.Now()), lead.ID, lead.Fence).Scan(&revision)
	if errors.Is(err, sql.ErrNoRows) {
		return false, ErrLost
	} else if err != nil {
		return false, fmt.Errorf("ledger: end: %w", err)
	}
	if revision == lead.Revision || ending.State == StateCancelled {
		return false, nil
	}
	_, err = tx.ExecContext(ctx, `UPDATE leads SET state = 'none', attempts = 0, queued = 1 WHERE id = $1`, lead.ID)
	return true, err
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
		result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = 'crashed', owner = '',
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
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = 'reset', owner = '', queued = 1,
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
