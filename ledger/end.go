package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Ending is how an attempt at a claimed lead ends.
type Ending struct {
	// Lead as it was claimed.
	Lead Lead
	// State in which the lead ends.
	State  State
	Reason string
	// Cost of the attempt.
	Cost enrich.Micros
	// Result as JSON; nil leaves the one of before.
	Result []byte
}

// Ended says what became of an ending.
type Ended struct {
	// Lost: the lead was given to another worker, and nothing was written.
	Lost bool
	// Again: somebody asked for more while the lead was worked. It waits again,
	// and the caller sees that it is worked.
	Again bool
}

// End ends claimed leads, and says for each what became of it.
func (s *Store) End(ctx context.Context, tx *sql.Tx, endings ...Ending) ([]Ended, error) {
	now := millis(time.Now())
	var cells []any
	ids := make([]string, len(endings))
	for i, e := range endings {
		ids[i] = e.Lead.ID
		cells = append(cells, e.Lead.ID, e.Lead.Fence, e.State, e.Reason, e.Cost, string(e.Result), now, StateProcessing)
	}
	if err := s.hold(ctx, tx, "leads", ids); err != nil {
		return nil, fmt.Errorf("ledger: end: %w", err)
	}
	// The state comes as a cell: for a constant PostgreSQL would search the index
	// of what is in work, most of which ended since the last vacuum.
	operand, args := s.operand(8, cells)
	rows, err := tx.QueryContext(ctx, `UPDATE leads SET state = e.column3, reason = e.column4, cost_micros = cost_micros + e.column5,
		result = CASE WHEN e.column6 = '' THEN result ELSE e.column6 END, owner = '', processing_started_at = 0, finished_at = e.column7
		FROM (`+operand+`) AS e WHERE id = e.column1 AND fence = e.column2 AND state = e.column8 RETURNING id, fence, revision`, args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: end: %w", err)
	}
	defer rows.Close()
	type attempt struct {
		id    string
		fence int64
	}
	revisions := map[attempt]int64{}
	for rows.Next() {
		var of attempt
		var revision int64
		if err := rows.Scan(&of.id, &of.fence, &revision); err != nil {
			return nil, fmt.Errorf("ledger: end: %w", err)
		}
		revisions[of] = revision
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ledger: end: %w", err)
	}
	all := make([]Ended, len(endings))
	for i, e := range endings {
		revision, ended := revisions[attempt{e.Lead.ID, e.Lead.Fence}]
		all[i] = Ended{Lost: !ended, Again: ended && revision != e.Lead.Revision && e.State != StateCancelled}
		if !all[i].Again {
			continue
		}
		if _, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', attempts = 0, queued = 1 WHERE id = $1`, e.Lead.ID); err != nil {
			return nil, fmt.Errorf("ledger: end: %w", err)
		}
	}
	return all, nil
}
