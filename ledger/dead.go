package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/enrichd/enrichd/enrich"
)

// DeadKind is what was given up.
type DeadKind string

// The kinds of dead letter.
const (
	DeadLead     DeadKind = "lead"
	DeadDelivery DeadKind = "delivery"
)

// The reasons of dead letters, besides the kinds of enrich.Error.
const (
	DeadBudget      = "budget_exhausted" // the lead's deadline passed
	DeadCrashed     = "crashed"          // the process ended again and again while it was worked
	DeadLost        = "lost"             // the queue gave it up
	DeadSinkGone    = "sink_gone"        // the receiver wants nothing more
	DeadSinkRefused = "sink_refused"     // the receiver refuses this message
	DeadSinkFailing = "sink_failing"     // the receiver could not be reached in all its tries
)

// Try is one call or attempt that a dead letter tells of.
type Try struct {
	Provider string         `json:"provider,omitempty"`
	Outcome  string         `json:"outcome"`
	At       time.Time      `json:"at,omitzero"`
	Waited   time.Duration  `json:"waited,omitempty"`
	Took     time.Duration  `json:"took,omitempty"`
	Charged  *enrich.Micros `json:"charged,omitempty"` // nil: unknown
}

// DeadLetter is work that was given up, with what is needed to repair and repeat
// it. The lead it names has the request and the result so far.
type DeadLetter struct {
	ID   string
	Kind DeadKind
	// Target is the id of the lead or delivery.
	Target   string
	Lead     string
	Account  string
	Subject  string
	Lane     enrich.Lane
	Reason   string // an enrich.ErrorKind or one of the Dead words
	Provider string // "": none in particular
	Message  string // a sentence without personal data
	Tries    []Try
	Attempts int
	// FirstSeen and LastSeen are when it was given up, first and last.
	FirstSeen  time.Time
	LastSeen   time.Time
	ResolvedAt time.Time // zero: open
	Resolution string    // "replayed", "resolved", "retried", "erased"
	Note       string
}

// Bury writes a dead letter down. One target has one open dead letter; burying
// it again renews that one.
func (s *Store) Bury(ctx context.Context, tx *sql.Tx, d DeadLetter) error {
	tries, err := json.Marshal(d.Tries)
	if err != nil {
		return fmt.Errorf("ledger: bury: %w", err)
	}
	now := millis(time.Now())
	_, err = tx.ExecContext(ctx, `INSERT INTO dead_letters (id, kind, target, lead, account, subject, lane, reason, provider, message,
		tries, attempts, first_seen, last_seen) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (kind, target) WHERE resolved_at = 0 DO UPDATE SET reason = excluded.reason, provider = excluded.provider,
		message = excluded.message, tries = excluded.tries, attempts = dead_letters.attempts + excluded.attempts, last_seen = excluded.last_seen`,
		NewID(), d.Kind, d.Target, d.Lead, d.Account, d.Subject, d.Lane, d.Reason, d.Provider, d.Message, string(tries), d.Attempts, now, now)
	if err != nil {
		return fmt.Errorf("ledger: bury: %w", err)
	}
	return nil
}

// DeadFilter chooses dead letters. Its zero fields choose all that are open.
type DeadFilter struct {
	IDs      []string
	Kind     DeadKind
	Account  string
	Reason   string
	Provider string
	Lane     enrich.Lane
	Since    time.Time // last seen at or after
	Before   time.Time // last seen before
	Resolved bool      // those resolved instead
	// After is the id of the last dead letter of the page before.
	After string
	Most  int // 0: 100
}

func (f DeadFilter) where() (w where) {
	w.add(`id > `, f.After, f.After != "")
	w.in(`id`, anys(f.IDs))
	w.add(`kind = `, f.Kind, f.Kind != "")
	w.add(`account = `, f.Account, f.Account != "")
	w.add(`reason = `, f.Reason, f.Reason != "")
	w.add(`provider = `, f.Provider, f.Provider != "")
	w.add(`lane = `, f.Lane, f.Lane != "")
	w.add(`last_seen >= `, millis(f.Since), !f.Since.IsZero())
	w.add(`last_seen < `, millis(f.Before), !f.Before.IsZero())
	if f.Resolved {
		w.and(`resolved_at > 0`)
	} else {
		w.and(`resolved_at = 0`)
	}
	return w
}

// DeadLetters lists dead letters in the order in which they were first seen.
func (s *Store) DeadLetters(ctx context.Context, filter DeadFilter) (letters []DeadLetter, err error) {
	if filter.Most <= 0 {
		filter.Most = 100
	}
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	w := filter.where()
	rows, err := s.reader.QueryContext(ctx, `SELECT id, kind, target, lead, account, subject, lane, reason, provider, message, tries,
		attempts, first_seen, last_seen, resolved_at, resolution, note FROM dead_letters WHERE `+w.String()+
		` ORDER BY id LIMIT `+w.arg(filter.Most), w.args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: dead letters: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var d DeadLetter
		var tries string
		var first, last, resolved int64
		if err := rows.Scan(&d.ID, &d.Kind, &d.Target, &d.Lead, &d.Account, &d.Subject, &d.Lane, &d.Reason, &d.Provider, &d.Message,
			&tries, &d.Attempts, &first, &last, &resolved, &d.Resolution, &d.Note); err != nil {
			return nil, fmt.Errorf("ledger: dead letters: %w", err)
		}
		if err := json.Unmarshal([]byte(tries), &d.Tries); err != nil {
			return nil, fmt.Errorf("ledger: dead letters: %w", err)
		}
		d.FirstSeen, d.LastSeen, d.ResolvedAt = fromMillis(first), fromMillis(last), fromMillis(resolved)
		letters = append(letters, d)
	}
	return letters, rows.Err()
}

// DeadCount is how many dead letters share a reason and a provider.
type DeadCount struct {
	Kind     DeadKind  `json:"kind"`
	Reason   string    `json:"reason"`
	Provider string    `json:"provider,omitempty"`
	Letters  int64     `json:"letters"`
	Oldest   time.Time `json:"oldest"` // first seen
}

// CountDead counts the chosen dead letters, the most first.
func (s *Store) CountDead(ctx context.Context, filter DeadFilter) (counts []DeadCount, err error) {
	ctx, cancel := s.bound(ctx, reportsWithin)
	defer cancel()
	w := filter.where()
	rows, err := s.reader.QueryContext(ctx, `SELECT kind, reason, provider, COUNT(*), MIN(first_seen) FROM dead_letters WHERE `+
		w.String()+` GROUP BY kind, reason, provider ORDER BY COUNT(*) DESC, kind, reason, provider`, w.args...)
	if err != nil {
		return nil, fmt.Errorf("ledger: dead letters: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var c DeadCount
		var oldest int64
		if err := rows.Scan(&c.Kind, &c.Reason, &c.Provider, &c.Letters, &oldest); err != nil {
			return nil, fmt.Errorf("ledger: dead letters: %w", err)
		}
		c.Oldest = fromMillis(oldest)
		counts = append(counts, c)
	}
	return counts, rows.Err()
}

// Resolve closes an open dead letter. ErrTaken: it is closed already.
func (s *Store) Resolve(ctx context.Context, tx *sql.Tx, id, resolution, note string) error {
	if strings.ContainsRune(note, 0) || !utf8.ValidString(note) {
		return errText
	}
	result, err := tx.ExecContext(ctx, `UPDATE dead_letters SET resolved_at = $1, resolution = $2, note = $3
		WHERE id = $4 AND resolved_at = 0`, millis(time.Now()), resolution, note, id)
	return oneRow(result, err, ErrTaken)
}

// ResolveOf closes the open dead letter of a target, if there is one.
func (s *Store) ResolveOf(ctx context.Context, tx *sql.Tx, kind DeadKind, target, resolution string) error {
	_, err := tx.ExecContext(ctx, `UPDATE dead_letters SET resolved_at = $1, resolution = $2
		WHERE kind = $3 AND target = $4 AND resolved_at = 0`, millis(time.Now()), resolution, kind, target)
	if err != nil {
		return fmt.Errorf("ledger: resolve: %w", err)
	}
	return nil
}

// DeadLetter returns one dead letter, open or resolved. ErrUnknown: none.
func (s *Store) DeadLetter(ctx context.Context, id string) (DeadLetter, error) {
	for _, resolved := range []bool{false, true} {
		letters, err := s.DeadLetters(ctx, DeadFilter{IDs: []string{id}, Resolved: resolved})
		if err != nil {
			return DeadLetter{}, err
		}
		if len(letters) == 1 {
			return letters[0], nil
		}
	}
	return DeadLetter{}, ErrUnknown
}
