package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// Unqueued lists the lanes with leads that wait to be fed to the queue.
func (s *Store) Unqueued(ctx context.Context) (lanes []enrich.Lane, err error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	waits := make([]bool, len(enrich.Lanes))
	into := make([]any, len(enrich.Lanes))
	for i := range waits {
		into[i] = &waits[i]
	}
	if err := s.reader.QueryRowContext(ctx, unqueued).Scan(into...); err != nil {
		return nil, fmt.Errorf("ledger: unqueued: %w", err)
	}
	for i, lane := range enrich.Lanes {
		if waits[i] {
			lanes = append(lanes, lane)
		}
	}
	return lanes, nil
}

// unqueued asks about all lanes at once, because it is asked all the time.
var unqueued = func() string {
	each := make([]string, len(enrich.Lanes))
	for i, lane := range enrich.Lanes {
		each[i] = `EXISTS (SELECT 1 FROM leads WHERE lane = '` + string(lane) + `' AND state = 'none' AND queued = 0)`
	}
	return "SELECT " + strings.Join(each, ", ")
}()

// Room tells how many more leads of a lane may be fed to the queue, so that most
// of them are there at once; 0 when none wait to be.
func (s *Store) Room(ctx context.Context, lane enrich.Lane, most int) (room int, err error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	var waits bool
	err = s.reader.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM leads WHERE lane = $1 AND state = 'none' AND queued = 0)`, lane).Scan(&waits)
	if err == nil && waits {
		err = s.reader.QueryRowContext(ctx, `SELECT CAST($2 AS BIGINT) - COUNT(*) FROM (SELECT 1 FROM leads WHERE lane = $1 AND state = 'none' AND queued = 1
			LIMIT CAST($2 AS BIGINT)) AS queued`, lane, most).Scan(&room)
	}
	if err != nil {
		return 0, fmt.Errorf("ledger: room: %w", err)
	}
	return room, nil
}

// SetAside takes a claimed lead out of the queue until Feed brings it back. The
// attempt was none.
func (s *Store) SetAside(ctx context.Context, tx *sql.Tx, lead Lead, reason string) error {
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = $1, owner = '', processing_started_at = 0, queued = 0,
		attempts = attempts - 1, revision = revision + 1 WHERE id = $2 AND fence = $3 AND state = 'processing'`, reason, lead.ID, lead.Fence)
	return oneRow(result, err, ErrLost)
}

// Feed takes the next leads of a lane that are not in the queue, account by
// account in turn, leaving out the paused accounts. The caller puts them into
// the queue in the same transaction.
func (s *Store) Feed(ctx context.Context, tx *sql.Tx, lane enrich.Lane, most int, paused []string) ([]Waiting, error) {
	skip := ""
	args := []any{lane, most}
	if len(paused) > 0 {
		skip = ` AND account NOT IN (` + list(3, len(paused)) + `)`
		args = append(args, anys(paused)...)
	}
	rows, err := tx.QueryContext(ctx, `WITH next AS (SELECT id FROM leads WHERE lane = $1 AND state = 'none' AND queued = 0`+skip+`
		ORDER BY turn LIMIT $2`+s.passingOver()+`) UPDATE leads SET queued = 1 WHERE id IN (SELECT id FROM next) RETURNING id, turn, revision`, args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: feed: %w", err)
	}
	defer rows.Close()
	type place struct {
		Waiting
		turn int64
	}
	var places []place
	for rows.Next() {
		p := place{Waiting: Waiting{Lane: lane}}
		if err := rows.Scan(&p.ID, &p.turn, &p.Revision); err != nil {
			return nil, fmt.Errorf("ledger: feed: %w", err)
		}
		places = append(places, p)
	}
	if err := rows.Err(); err != nil || len(places) == 0 {
		return nil, err
	}
	slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.turn, b.turn) })
	waiting := make([]Waiting, len(places))
	for i, p := range places {
		waiting[i] = p.Waiting
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO shares (account, lane, turn) VALUES ('', $1, $2)
		ON CONFLICT (account, lane) DO UPDATE SET turn = CASE WHEN shares.turn > excluded.turn THEN shares.turn ELSE excluded.turn END`,
		lane, places[len(places)-1].turn)
	return waiting, err
}
