package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Retention says how long what has ended is kept. A zero duration keeps for ever.
type Retention struct {
	// Events that came in, by which a repeated one is known.
	Events time.Duration `yaml:"events"`
	// Leads that have ended, with their deliveries and resolved dead letters,
	// and imports that were read, with their rows.
	Leads time.Duration `yaml:"leads"`
	// Charges.
	Charges time.Duration `yaml:"charges"`
	// Timeline events. That a lead was accepted and its result delivered is told
	// as long as the lead is kept.
	Timeline time.Duration `yaml:"timeline"`
}

// tidyPage is how many rows are deleted at once, so that others can write in
// between.
const tidyPage = 1000

// Tidy deletes what has been kept long enough, and answers and switches whose own
// time is over.
func (s *Store) Tidy(ctx context.Context, keep Retention) error {
	now := time.Now()
	for _, old := range []struct {
		table, key, condition string
		after                 time.Duration
		on                    bool
	}{
		{"answers", "subject", "keep_until < $1", 0, true},
		{"switches", "scope, name", "paused_until < $1", 0, true},
		{"events", "account, event", "received_at < $1", keep.Events, keep.Events > 0},
		{"timeline", "subject, slot", "at < $1", keep.Timeline, keep.Timeline > 0},
		{"charges", "charge", "charged_at < $1", keep.Charges, keep.Charges > 0},
		{"outbox", "id", "state <> 'pending' AND state <> 'error' AND ended_at < $1", keep.Leads, keep.Leads > 0},
		{"dead_letters", "id", "resolved_at > 0 AND resolved_at < $1", keep.Leads, keep.Leads > 0},
		{"leads", "id", "state IN ('done', 'partial', 'not_found', 'cancelled') AND finished_at < $1", keep.Leads, keep.Leads > 0},
		{"import_rows", "import, line", "import IN (SELECT id FROM imports WHERE finished_at > 0 AND finished_at < $1)", keep.Leads, keep.Leads > 0},
		{"imports", "id", "finished_at > 0 AND finished_at < $1", keep.Leads, keep.Leads > 0},
	} {
		if !old.on {
			continue
		}
		statement := `WITH old AS (SELECT ` + old.key + ` FROM ` + old.table + ` WHERE ` + old.condition + ` LIMIT $2` + s.passingOver() +
			`) DELETE FROM ` + old.table + ` WHERE (` + old.key + `) IN (SELECT ` + old.key + ` FROM old)`
		for deleted := int64(tidyPage); deleted == tidyPage; {
			err := s.makeWay(ctx, reportsWithin, func(ctx context.Context, tx *sql.Tx) error {
				result, err := tx.ExecContext(ctx, statement, millis(now.Add(-old.after)), tidyPage)
				if err != nil {
					return err
				}
				deleted, err = result.RowsAffected()
				return err
			})
			if err != nil {
				return fmt.Errorf("ledger: tidy %s: %w", old.table, err)
			}
		}
	}
	return nil
}
