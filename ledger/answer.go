package ledger

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
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
	// Suppressions are asked again when an answer is written down, which may be
	// long after it came: an erasure in between would miss it. Nil: nobody.
	Suppressions enrich.Suppressions
	// Log is told what could not be kept.
	Log *slog.Logger
}

var _ enrich.Recall = Keeper{}

const (
	// recallWithin is how long a request waits for what the ledger knows: with one
	// that hangs it goes on as if nothing were known.
	recallWithin = time.Second
	// keepWithin is how long an answer waits until it is kept. It is kept all the
	// same when the ledger takes longer.
	keepWithin = 500 * time.Millisecond
)

// RecallAll recalls from the caches, and from the ledger what they do not know.
func (k Keeper) RecallAll(ctx context.Context, keys []email.Key) []enrich.Recalled {
	known := k.Caches.RecallAll(ctx, keys)
	var missing []string
	for i := range known {
		if known[i].Record.IsEmpty() {
			missing = append(missing, k.Store.SubjectKey(keys[i]))
		}
	}
	if len(missing) == 0 {
		return known
	}
	within, cancel := k.Store.bound(ctx, recallWithin)
	defer cancel()
	kept, err := k.Store.Answers(within, missing)
	if err != nil {
		k.Log.WarnContext(ctx, "kept answers cannot be read", "error", err)
	}
	for i := range known {
		if !known[i].Record.IsEmpty() {
			continue
		}
		found := kept[missing[0]]
		if missing = missing[1:]; k.Passes != nil {
			found = found.Keep(k.Passes)
		}
		known[i].Record = found
	}
	return known
}

// Remember keeps the record in the ledger first, then in the caches. A PostgreSQL
// that hangs is not waited for, so that the answer is in time.
func (k Keeper) Remember(ctx context.Context, key email.Key, record enrich.Record, until time.Time) {
	keep := func() {
		answer := answered{k.Store.SubjectKey(key), record, until, func() (bool, error) { return k.objected(key) }}
		if err := k.Store.keepAnswer(context.WithoutCancel(ctx), answer); err != nil {
			k.Log.ErrorContext(ctx, "an answer cannot be kept", "error", err)
		}
	}
	if k.Store.sqlite {
		keep()
	} else {
		k.Store.notLongerThan(keepWithin, keep)
	}
	k.Caches.Remember(ctx, key, record, until)
}

// objected tells whether nothing may be kept about a subject. Its error is that
// nobody can tell.
func (k Keeper) objected(key email.Key) (bool, error) {
	if k.Suppressions == nil {
		return false, nil
	}
	objected, err := k.Suppressions.Suppressed(key)
	if err != nil {
		k.Log.Error("an answer cannot be kept, nobody can tell whether the subject is suppressed", "error", err)
	}
	return objected, err
}

// notLongerThan waits so long for what goes on all the same, which Close waits for.
func (s *Store) notLongerThan(within time.Duration, do func()) {
	done := make(chan struct{})
	s.keeping.Go(func() { defer close(done); do() })
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
	}
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

// answered is an answer that is to be kept.
type answered struct {
	subject string
	record  enrich.Record
	until   time.Time
	// objected is asked while the rows are held, for which an erasure waits. Without an
	// answer the fresh record is not kept; nil: nobody has.
	objected func() (bool, error)
}

// KeepAnswer joins a record with what is kept about a subject.
func (s *Store) KeepAnswer(ctx context.Context, subject string, fresh enrich.Record, until time.Time) error {
	return s.keepAnswer(ctx, answered{subject: subject, record: fresh, until: until})
}

func (s *Store) keepAnswer(ctx context.Context, answer answered) error {
	if _, err := s.answers.Ask(ctx, answer); err != nil {
		return fmt.Errorf("ledger: keep answer: %w", err)
	}
	return nil
}

func (s *Store) keepAnswers(ctx context.Context, all []answered) ([]struct{}, error) {
	fresh := map[string]answered{}
	for _, one := range all {
		if other, known := fresh[one.subject]; known {
			one.record = one.record.Join(other.record)
			if other.until.After(one.until) {
				one.until = other.until
			}
		}
		fresh[one.subject] = one
	}
	subjects := slices.Sorted(maps.Keys(fresh)) // so that transactions cannot wait for each other
	return make([]struct{}, len(all)), s.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		if err := s.holdAnswers(ctx, tx, subjects); err != nil {
			return err
		}
		kept, err := s.answersIn(ctx, tx, subjects)
		if err != nil && !errors.Is(err, errUnreadable) { // which is written over
			return err
		}
		var cells []any
		for _, subject := range subjects {
			if passed, err := s.pass(ctx, tx, fresh[subject]); err != nil {
				return err
			} else if !passed {
				continue
			}
			text, err := textOf(kept[subject].Join(fresh[subject].record))
			if err != nil {
				return err
			}
			cells = append(cells, subject, text, millis(fresh[subject].until))
		}
		if len(cells) == 0 {
			return nil
		}
		operand, args := s.operand(3, cells)
		_, err = tx.ExecContext(ctx, `INSERT INTO answers (subject, record, keep_until) `+operand+` ON CONFLICT (subject) DO UPDATE SET
			record = excluded.record,
			keep_until = CASE WHEN answers.keep_until > excluded.keep_until THEN answers.keep_until ELSE excluded.keep_until END`, args...)
		return err
	})
}

// pass tells whether an answer may be kept. Of a subject that has objected nothing
// stays; where nobody can tell, what was kept before does.
func (s *Store) pass(ctx context.Context, tx *sql.Tx, answer answered) (bool, error) {
	if answer.objected == nil {
		return true, nil
	}
	objected, unknown := answer.objected()
	if !objected && unknown == nil {
		return true, nil
	}
	_, err := tx.ExecContext(ctx, `DELETE FROM answers WHERE subject = $1 AND ($2 OR record = '')`, answer.subject, objected)
	return false, err
}

// holdAnswers makes and locks the rows of subjects, so that of two processes that
// keep the first answers about one the second joins those of the first, and an
// erasure waits for what is about to be kept. SQLite has one writer.
func (s *Store) holdAnswers(ctx context.Context, tx *sql.Tx, subjects []string) error {
	if s.sqlite {
		return nil
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO answers (subject, record, keep_until) SELECT subject, '', 0 FROM unnest($1::text[]) AS subject
		ON CONFLICT (subject) DO UPDATE SET subject = excluded.subject`, subjects)
	return err
}

// Answer returns what is kept about a subject; the empty record: nothing.
func (s *Store) Answer(ctx context.Context, subject string) (enrich.Record, error) {
	kept, err := s.Answers(ctx, []string{subject})
	return kept[subject], err
}

// errUnreadable is the error of a kept answer that is damaged, or in a form that
// this program does not know.
var errUnreadable = errors.New("a kept answer cannot be read")

// Answers returns what is kept about subjects. When one of them cannot be read the
// others are returned beside the error.
func (s *Store) Answers(ctx context.Context, subjects []string) (map[string]enrich.Record, error) {
	ctx, cancel := s.bound(ctx, s.within)
	defer cancel()
	return s.answersIn(ctx, s.reader, subjects)
}

func (s *Store) answersIn(ctx context.Context, from querier, subjects []string) (map[string]enrich.Record, error) {
	among, args := s.among(2, subjects)
	rows, err := from.QueryContext(ctx, `SELECT subject, record FROM answers WHERE keep_until > $1 AND subject `+among,
		append([]any{millis(time.Now())}, args...)...)
	if err != nil {
		return nil, fmt.Errorf("ledger: answers: %w", err)
	}
	defer rows.Close()
	kept := make(map[string]enrich.Record, len(subjects))
	var unreadable error
	for rows.Next() {
		var subject, text string
		if err := rows.Scan(&subject, &text); err != nil {
			return nil, fmt.Errorf("ledger: answers: %w", err)
		}
		known, err := fromText(text)
		if err != nil {
			unreadable = fmt.Errorf("ledger: %w: %w", errUnreadable, err)
			continue
		}
		kept[subject] = known
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("ledger: answers: %w", err)
	}
	return kept, unreadable
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
		return enrich.Record{}, err
	}
	return record.Decode(string(encoded))
}
