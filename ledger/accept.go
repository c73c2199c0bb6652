package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// MostAccepted is how many submissions Accept takes at once.
const MostAccepted = 500

// Accept writes the submissions of one account down and returns a receipt for
// each, in their order. A key that is known already adds no lead; when the
// submission asks for more than the lead did, the lead asks for that too, and
// is worked again if it had ended. A known key with another subject is refused.
func (s *Store) Accept(ctx context.Context, tx *sql.Tx, account string, submissions []Submission) ([]Receipt, error) {
	if len(submissions) > MostAccepted {
		return nil, fmt.Errorf("ledger: accept: more than %d submissions", MostAccepted)
	}
	distinct, at := merge(submissions)
	now := time.Now()
	receipts, err := s.insertLeads(ctx, tx, account, distinct, now)
	if err != nil {
		return nil, fmt.Errorf("ledger: accept: %w", err)
	}
	if err := s.widen(ctx, tx, account, distinct, receipts); err != nil {
		return nil, fmt.Errorf("ledger: accept: %w", err)
	}
	var events []Event
	for i, receipt := range receipts {
		if receipt.Widened {
			events = append(events, Event{Subject: distinct[i].Subject, At: now, Kind: EventSubmitted, Account: account,
				Lead: receipt.ID, Detail: Detail{"lane": string(distinct[i].Lane), "origin": distinct[i].Origin}})
		}
	}
	if err := s.Note(ctx, tx, events...); err != nil {
		return nil, err
	}
	all := make([]Receipt, len(submissions))
	seen := make([]bool, len(distinct))
	for i, index := range at {
		all[i] = receipts[index]
		if seen[index] { // the first of several brought the lead
			all[i].New, all[i].Widened, all[i].NeedsJob = false, false, false
		}
		seen[index] = true
	}
	return all, nil
}

// isOf tells whether a submission is about the subject of a lead. The key of a
// subject changes when addresses are folded another way, and the address stays.
func (s Submission) isOf(subject, address string) bool {
	return s.Subject == subject || s.Address == address
}

// merge returns one submission for each key and subject, and for every submission
// the index of its own.
func merge(submissions []Submission) (distinct []Submission, at []int) {
	type same struct{ key, subject string }
	index := make(map[same]int, len(submissions))
	for _, submission := range submissions {
		of := same{submission.Key, submission.Subject}
		i, known := index[of]
		if !known {
			i = len(distinct)
			index[of] = i
			distinct = append(distinct, submission)
		} else if !distinct[i].Want.Covers(submission.Want) {
			distinct[i].Want = distinct[i].Want.With(submission.Want)
		}
		at = append(at, i)
	}
	return distinct, at
}

// insertLeads inserts what is not known and returns receipts, without an ID for
// what is.
func (s *Store) insertLeads(ctx context.Context, tx *sql.Tx, account string, submissions []Submission, now time.Time) ([]Receipt, error) {
	if len(submissions) == 0 {
		return nil, nil
	}
	turns, err := takeTurns(ctx, tx, account, submissions)
	if err != nil {
		return nil, err
	}
	receipts := make([]Receipt, len(submissions))
	index := make(map[string]int, len(submissions))
	ids := make([]string, len(submissions))
	order := make([]int, len(submissions))
	for i, sub := range submissions {
		receipts[i] = Receipt{Key: sub.Key, State: StateNone, Lane: sub.Lane, Revision: 1}
		ids[i], order[i] = NewID(), i
		index[ids[i]] = i
	}
	// In the order of their keys, so that transactions cannot wait for each other; of
	// several with one key the first has it.
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(submissions[a].Key, submissions[b].Key) })
	const columns = 14
	cells := make([]any, 0, columns*len(submissions))
	for _, i := range order {
		sub := submissions[i]
		want, err := json.Marshal(sub.Want)
		if err != nil {
			return nil, err
		}
		queued := 1
		if sub.Lane == enrich.Bulk {
			queued = 0
		}
		cells = append(cells, ids[i], account, sub.Key, sub.Subject, sub.Company, sub.Lane, sub.Origin, turns[i], queued,
			millis(now), millis(sub.Deadline), string(want), sub.Address, string(sub.Contact))
	}
	operand, args := s.operand(columns, cells)
	rows, err := tx.QueryContext(ctx, s.insertNew()+` leads (id, account, idem_key, subject, company, lane, origin, turn, queued,
		accepted_at, deadline_at, request, email, contact) `+operand+`
		ON CONFLICT (account, idem_key) DO NOTHING RETURNING id`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		receipt := &receipts[index[id]]
		receipt.ID, receipt.New, receipt.NeedsJob = id, true, receipt.Lane != enrich.Bulk
	}
	return receipts, rows.Err()
}

// widen completes the receipts of leads that were known.
func (s *Store) widen(ctx context.Context, tx *sql.Tx, account string, submissions []Submission, receipts []Receipt) error {
	var keys []any
	index := map[string][]int{} // several, when they name different subjects
	for i, receipt := range receipts {
		if !receipt.New {
			if index[receipt.Key] == nil {
				keys = append(keys, receipt.Key)
			}
			index[receipt.Key] = append(index[receipt.Key], i)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	known, err := s.leads(ctx, tx, `account = $1 AND idem_key IN (`+list(2, len(keys))+`)`+s.forUpdate(), append([]any{account}, keys...)...)
	if err != nil {
		return err
	}
	for _, lead := range known {
		for _, i := range index[lead.Key] {
			if err := s.widenOne(ctx, tx, &lead, submissions[i], &receipts[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// widenOne completes the receipt of a submission whose lead was known, which it
// keeps up to date.
func (s *Store) widenOne(ctx context.Context, tx *sql.Tx, lead *Lead, submission Submission, receipt *Receipt) error {
	if !submission.isOf(lead.Subject, lead.Address) {
		*receipt = Receipt{Key: lead.Key, Reused: true}
		return nil
	}
	receipt.ID, receipt.State, receipt.Lane, receipt.Revision = lead.ID, lead.State, lead.Lane, lead.Revision
	if lead.Want.Covers(submission.Want) || lead.State == StateCancelled {
		return nil
	}
	lead.Want = lead.Want.With(submission.Want)
	want, err := json.Marshal(lead.Want)
	if err != nil {
		return err
	}
	// What is under way finishes first; its end sees the new revision.
	_, err = tx.ExecContext(ctx, `UPDATE leads SET request = $1, revision = revision + 1 WHERE id = $2`, string(want), lead.ID)
	if err != nil {
		return err
	}
	lead.Revision++
	if lead.State.Ended() {
		if err := s.Reopen(ctx, tx, lead.ID, lead.Lane, submission.Deadline); err != nil {
			return err
		}
		lead.Revision++
		lead.State, receipt.NeedsJob = StateNone, lead.Lane != enrich.Bulk
	}
	receipt.Widened, receipt.State, receipt.Revision = true, lead.State, lead.Revision
	return nil
}

// Reopen makes an ended lead wait for a worker again, with all its attempts and
// its next revision.
func (s *Store) Reopen(ctx context.Context, tx *sql.Tx, id string, lane enrich.Lane, deadline time.Time) error {
	queued := 1
	if lane == enrich.Bulk {
		queued = 0
	}
	result, err := tx.ExecContext(ctx, `UPDATE leads SET state = 'none', reason = '', attempts = 0, queued = $1, lane = $2, deadline_at = $3,
		revision = revision + 1 WHERE id = $4 AND state NOT IN ('none', 'processing')`, queued, lane, millis(deadline), id)
	return oneRow(result, err, ErrLive)
}

// longestStep is what one lead of an account of weight 1 moves its account's turn
// on; a heavier one takes shorter steps.
const longestStep = 1_000_000

// takeTurns gives the submissions of the bulk lane their places: the turns of an
// account are a step apart and begin where the lane stands, so that accounts
// are served by turns however much one of them brought (start-time fair
// queueing).
func takeTurns(ctx context.Context, tx *sql.Tx, account string, submissions []Submission) ([]int64, error) {
	turns := make([]int64, len(submissions))
	bulk, step := int64(0), int64(longestStep)
	for _, sub := range submissions {
		if sub.Lane == enrich.Bulk {
			bulk++
			step = max(longestStep/int64(max(sub.Weight, 1)), 1)
		}
	}
	if bulk == 0 {
		return turns, nil
	}
	var stands int64
	err := tx.QueryRowContext(ctx, `SELECT COALESCE(MAX(turn), 0) FROM shares WHERE account = '' AND lane = $1`, enrich.Bulk).Scan(&stands)
	if err != nil {
		return nil, err
	}
	var last int64
	err = tx.QueryRowContext(ctx, `INSERT INTO shares (account, lane, turn) VALUES ($1, $2, $3)
		ON CONFLICT (account, lane) DO UPDATE SET turn = CASE WHEN shares.turn > $4 THEN shares.turn ELSE $4 END + $5 RETURNING turn`,
		account, enrich.Bulk, stands+bulk*step, stands, bulk*step).Scan(&last)
	if err != nil {
		return nil, err
	}
	next := last - bulk*step
	for i, sub := range submissions {
		if sub.Lane == enrich.Bulk {
			next += step
			turns[i] = next
		}
	}
	return turns, nil
}
