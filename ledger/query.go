package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// querier is a transaction or the pool of readers.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

func (s *Store) leads(ctx context.Context, from querier, where string, args ...any) (leads []Lead, err error) {
	rows, err := from.QueryContext(ctx, `SELECT `+leadColumns+` FROM leads WHERE `+where, args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: leads: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		lead, err := scanLead(rows)
		if err != nil {
			return nil, fmt.Errorf("ledger: leads: %w", err)
		}
		leads = append(leads, lead)
	}
	return leads, rows.Err()
}

// Lead returns one lead. ErrUnknown: there is none.
func (s *Store) Lead(ctx context.Context, id string) (Lead, error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	lead, err := scanLead(s.reader.QueryRowContext(ctx, `SELECT `+leadColumns+` FROM leads WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Lead{}, ErrUnknown
	}
	return lead, err
}

// LeadIn is Lead in a transaction, which keeps others from changing it.
func (s *Store) LeadIn(ctx context.Context, tx *sql.Tx, id string) (Lead, error) {
	found, err := s.leads(ctx, tx, `id = $1`+s.forUpdate(), id)
	if err == nil && len(found) == 0 {
		err = ErrUnknown
	}
	if err != nil {
		return Lead{}, err
	}
	return found[0], nil
}

// Filter chooses leads. Its zero fields choose all.
type Filter struct {
	Account string
	States  []State
	Lane    enrich.Lane
	Origin  string
	Since   time.Time // accepted at or after
	// AcceptedBefore chooses leads accepted before that time.
	AcceptedBefore time.Time
	// StuckSince chooses leads in work since before that time.
	StuckSince time.Time
	// After is the id of the last lead of the page before.
	After string
	// Most leads on the page; 0: 100.
	Most int
}

// Leads lists leads in the order of their acceptance.
func (s *Store) Leads(ctx context.Context, filter Filter) ([]Lead, error) {
	if filter.Most <= 0 {
		filter.Most = 100
	}
	var w where
	w.add(`id > `, filter.After, filter.After != "")
	w.add(`account = `, filter.Account, filter.Account != "")
	w.add(`lane = `, filter.Lane, filter.Lane != "")
	w.add(`origin = `, filter.Origin, filter.Origin != "")
	w.add(`accepted_at >= `, millis(filter.Since), !filter.Since.IsZero())
	w.add(`accepted_at < `, millis(filter.AcceptedBefore), !filter.AcceptedBefore.IsZero())
	if !filter.StuckSince.IsZero() {
		w.add(`state = 'processing' AND processing_started_at < `, millis(filter.StuckSince), true)
	}
	w.in(`state`, anys(filter.States))
	ctx, cancel := s.bound(ctx, reportsWithin)
	defer cancel()
	return s.leads(ctx, s.reader, w.String()+` ORDER BY id LIMIT `+w.arg(filter.Most), w.args...)
}

// Count is a number of leads and the age of the oldest.
type Count struct {
	Lane   enrich.Lane
	State  State
	Leads  int64
	Oldest time.Time // its acceptance
}

// Counts counts leads by lane and state.
func (s *Store) Counts(ctx context.Context) (counts []Count, err error) {
	ctx, cancel := s.bound(ctx, reportsWithin)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, `SELECT lane, state, COUNT(*), MIN(accepted_at) FROM leads GROUP BY lane, state ORDER BY lane, state`)
	if err != nil {
		return nil, fmt.Errorf("ledger: counts: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c Count
		var oldest int64
		if err := rows.Scan(&c.Lane, &c.State, &c.Leads, &oldest); err != nil {
			return nil, fmt.Errorf("ledger: counts: %w", err)
		}
		c.Oldest = fromMillis(oldest)
		counts = append(counts, c)
	}
	return counts, rows.Err()
}

// where builds a condition of the parts that are wanted.
type where struct {
	text string
	args []any
}

func (w *where) arg(value any) string {
	w.args = append(w.args, value)
	return fmt.Sprintf("$%d", len(w.args))
}

func (w *where) add(condition string, value any, wanted bool) {
	if wanted {
		w.and(condition + w.arg(value))
	}
}

func (w *where) in(column string, items []any) {
	if len(items) > 0 {
		w.and(column + ` IN (` + list(len(w.args)+1, len(items)) + `)`)
		w.args = append(w.args, items...)
	}
}

func (w *where) and(condition string) {
	if w.text != "" {
		w.text += " AND "
	}
	w.text += condition
}

// String is the condition, true without any part.
func (w *where) String() string {
	if w.text == "" {
		return "1 = 1"
	}
	return w.text
}
