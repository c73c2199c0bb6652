package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Kept is how many events of a subject the timeline keeps and tells: the last ones.
const Kept = 50

// EventKind is what happened.
type EventKind string

// The kinds of event.
const (
	EventSubmitted EventKind = "submitted" // also when it asked for more
	EventCached    EventKind = "cached"    // answered from what was known
	EventAsked     EventKind = "asked"
	EventWaited    EventKind = "waited"
	EventFound     EventKind = "found"
	EventCharged   EventKind = "charged"
	EventDelivered EventKind = "delivered"
	EventFailed    EventKind = "failed"
	EventReplayed  EventKind = "replayed"
	EventCancelled EventKind = "cancelled"
)

// Detail is what an event has to say, in words of the product: no personal data.
type Detail map[string]any

// Event is one thing that happened to a subject.
type Event struct {
	Subject string // as Store.SubjectKey
	At      time.Time
	Kind    EventKind
	Account string
	Lead    string
	Detail  Detail
}

// Note adds events to their subjects' timelines, in the given order. Those of
// [EventDelivered], and of [EventSubmitted] for a new lead, need no note. It takes
// subjects in one order, so that transactions cannot wait for each other.
func (s *Store) Note(ctx context.Context, tx *sql.Tx, events ...Event) error {
	if len(events) == 0 {
		return nil
	}
	of := map[string][]Event{}
	var subjects []string
	for _, event := range events {
		if of[event.Subject] == nil {
			subjects = append(subjects, event.Subject)
		}
		of[event.Subject] = append(of[event.Subject], event)
	}
	slices.Sort(subjects)
	ends, err := s.moveEnds(ctx, tx, subjects, of)
	if err != nil {
		return fmt.Errorf("ledger: timeline: %w", err)
	}
	const columns = 8
	var args []any
	for _, subject := range subjects {
		own := of[subject]
		seq := ends[subject] - int64(len(own))
		for i, event := range own {
			seq++
			if len(own)-i > Kept { // would be overwritten by this very statement
				continue
			}
			detail, err := json.Marshal(event.Detail)
			if err != nil {
				return fmt.Errorf("ledger: timeline: %w", err)
			}
			args = append(args, subject, seq%Kept, seq, millis(event.At), event.Kind, event.Account, event.Lead, string(detail))
		}
	}
	operand, args := s.operand(columns, args)
	_, err = tx.ExecContext(ctx, `INSERT INTO timeline (subject, slot, seq, at, kind, account, lead, detail) `+operand+`
		ON CONFLICT (subject, slot) DO UPDATE SET seq = excluded.seq, at = excluded.at,
		kind = excluded.kind, account = excluded.account, lead = excluded.lead, detail = excluded.detail`, args...)
	if err != nil {
		return fmt.Errorf("ledger: timeline: %w", err)
	}
	return nil
}

// moveEnds returns the last number of each subject after its new events.
func (s *Store) moveEnds(ctx context.Context, tx *sql.Tx, subjects []string, of map[string][]Event) (map[string]int64, error) {
	var args []any
	for _, subject := range subjects {
		args = append(args, subject, len(of[subject]))
	}
	operand, args := s.operand(2, args)
	rows, err := tx.QueryContext(ctx, `INSERT INTO timeline_ends (subject, seq) `+operand+`
		ON CONFLICT (subject) DO UPDATE SET seq = timeline_ends.seq + excluded.seq RETURNING subject, seq`, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	ends := make(map[string]int64, len(subjects))
	for rows.Next() {
		var subject string
		var seq int64
		if err := rows.Scan(&subject, &seq); err != nil {
			return nil, err
		}
		ends[subject] = seq
	}
	return ends, rows.Err()
}

// stories are what the timeline holds of a subject and what stands elsewhere: that
// leads were accepted, and that messages were delivered. Written into the timeline
// as well, those cost half of accepting a batch and a third of ending a delivery.
const stories = `SELECT seq, at, kind, account, lead, detail, '', '', 0 FROM timeline WHERE subject = $1
	UNION ALL SELECT 0, accepted_at, 'submitted', account, id, '', lane, origin, 0 FROM leads WHERE subject = $1
	UNION ALL SELECT CAST($2 AS BIGINT), ended_at, 'delivered', account, lead, '', sink, '', attempts FROM outbox
		WHERE subject = $1 AND state = 'delivered'`

// Timeline returns the last events of a subject, oldest first.
func (s *Store) Timeline(ctx context.Context, subject string) (events []Event, err error) {
	if subject == "" { // that of all that was erased
		return nil, nil
	}
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	rows, err := s.reader.QueryContext(ctx, stories+` ORDER BY 2 DESC, 1 DESC LIMIT $3`, subject, int64(math.MaxInt64), Kept)
	if err != nil {
		return nil, fmt.Errorf("ledger: timeline: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		event := Event{Subject: subject}
		var seq, at, attempts int64
		var detail, of, origin string
		if err := rows.Scan(&seq, &at, &event.Kind, &event.Account, &event.Lead, &detail, &of, &origin, &attempts); err != nil {
			return nil, fmt.Errorf("ledger: timeline: %w", err)
		}
		event.At = fromMillis(at)
		switch {
		case detail != "":
			if err := json.Unmarshal([]byte(detail), &event.Detail); err != nil {
				return nil, fmt.Errorf("ledger: timeline: %w", err)
			}
		case event.Kind == EventDelivered:
			event.Detail = Detail{"sink": of, "attempt": attempts}
		default:
			event.Detail = Detail{"lane": of, "origin": origin}
		}
		events = append(events, event)
	}
	slices.Reverse(events)
	return events, rows.Err()
}
