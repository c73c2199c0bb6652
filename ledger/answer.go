package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/record"
)

// Keeper is an enrich.Recall that also writes into the ledger what vendors
// answered, before it is used: what was paid for survives a crash even where the
// caches do not. It reads the ledger for what the caches do not know.
type Keeper struct {
	Caches enrich.Recall
	Store  *Store
	// Passes tells which kept facts may still be told; nil: all.
	Passes func(enrich.Fact) bool
	// Log is told what could not be kept.
	Log *slog.Logger
}

var _ enrich.Recall = Keeper{}

// RecallAll recalls from the caches, and from the ledger what they do not know.
func (k Keeper) RecallAll(ctx context.Context, keys []email.Key) []enrich.Recalled {
	known := k.Caches.RecallAll(ctx, keys)
	for i := range known {
		if !known[i].Record.IsEmpty() {
			continue
		}
		kept, err := k.Store.Answer(ctx, k.Store.SubjectKey(keys[i]))
		if err != nil {
			k.Log.WarnContext(ctx, "kept answers cannot be read", "error", err)
			continue
		}
		if k.Passes != nil {
			kept = kept.Keep(k.Passes)
		}
		known[i].Record = kept
	}
	return known
}

// Remember keeps the record in the ledger first, then in the caches.
func (k Keeper) Remember(ctx context.Context, key email.Key, record enrich.Record, until time.Time) {
	if err := k.Store.KeepAnswer(ctx, k.Store.SubjectKey(key), record, until); err != nil {
		k.Log.ErrorContext(ctx, "an answer cannot be kept", "error", err)
	}
	k.Caches.Remember(ctx, key, record, until)
}

// Lease asks the caches.
func (k Keeper) Lease(ctx context.Context, key email.Key, enough func(enrich.Record) bool) (enrich.Record, func()) {
	return k.Caches.Lease(ctx, key, enough)
}

// Hold has the caches keep the lease.
func (k Keeper) Hold(key email.Key, until <-chan struct{}) { k.Caches.Hold(key, until) }

// Forget forgets the subject in the ledger's answers as well.
func (k Keeper) Forget(ctx context.Context, key email.Key) error {
	err := k.Store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE subject = $1`, k.Store.SubjectKey(key))
		return err
	})
	return errors.Join(err, k.Caches.Forget(ctx, key))
}

// KeepAnswer joins a record with what is kept about a subject.
func (s *Store) KeepAnswer(ctx context.Context, subject string, fresh enrich.Record, until time.Time) error {
	err := s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		kept, err := s.answer(ctx, tx, subject, s.forUpdate())
		if err != nil {
			return err
		}
		encoded, err := textOf(kept.Join(fresh))
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO answers (subject, record, keep_until) VALUES ($1, $2, $3)
			ON CONFLICT (subject) DO UPDATE SET record = excluded.record,
			keep_until = CASE WHEN answers.keep_until > excluded.keep_until THEN answers.keep_until ELSE excluded.keep_until END`,
			subject, encoded, millis(until))
		return err
	})
	if err != nil {
		return fmt.Errorf("ledger: keep answer: %w", err)
	}
	return nil
}

// Answer returns what is kept about a subject; the empty record: nothing.
func (s *Store) Answer(ctx context.Context, subject string) (enrich.Record, error) {
	return s.answer(ctx, s.reader, subject, "")
}

func (s *Store) answer(ctx context.Context, from querier, subject, lock string) (enrich.Record, error) {
	if lock != "" {
		lock = " FOR UPDATE"
	}
	rows, err := from.QueryContext(ctx, `SELECT record FROM answers WHERE subject = $1 AND keep_until > $2`+lock, subject, millis(time.Now()))
	if err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: answer: %w", err)
	}
	defer rows.Close()
	if !rows.Next() {
		return enrich.Record{}, rows.Err()
	}
	var text string
	if err := rows.Scan(&text); err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: answer: %w", err)
	}
	return fromText(text)
}

// textOf is the stored form of a record in the alphabet of texts; the empty one's
// is empty.
func textOf(known enrich.Record) (string, error) {
	encoded, err := record.Encode(known)
	return base64.StdEncoding.EncodeToString([]byte(encoded)), err
}

func fromText(text string) (enrich.Record, error) {
	if text == "" {
		return enrich.Record{}, nil
	}
	encoded, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: answer: %w", err)
	}
	known, err := record.Decode(string(encoded))
	if err != nil {
		return enrich.Record{}, fmt.Errorf("ledger: answer: %w", err)
	}
	return known, nil
}
