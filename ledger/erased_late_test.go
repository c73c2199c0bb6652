package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// objection suppresses everybody once somebody has objected, and cannot tell when
// the list is away.
type objection struct {
	enrich.NoSuppressions
	made, away atomic.Bool
}

func (o *objection) Suppressed(email.Key) (bool, error) {
	if o.away.Load() {
		return false, errors.New("the list is away")
	}
	return o.made.Load(), nil
}

// TestAnErasureWinsOverAnAnswerThatIsKeptLate: the answer came before the
// erasure, and the database hung for the process that keeps it until after.
func TestAnErasureWinsOverAnAnswerThatIsKeptLate(t *testing.T) {
	t.Parallel()
	dsn := pgtest.Start(t, pgtest.Fast).Database(t)
	var between hanging
	slow, other := open(t, ledger.Config{PostgreSQL: between.before(t, dsn)}), open(t, ledger.Config{PostgreSQL: dsn})
	var objects objection
	keeper := ledger.Keeper{Caches: forgetful{}, Store: slow, Suppressions: &objects, Log: slog.New(slog.DiscardHandler)}
	address, err := email.Normalize(ada)
	if err != nil {
		t.Fatal(err)
	}
	key, now := address.Key(), time.Now().Truncate(time.Millisecond)
	subject := slow.SubjectKey(key)
	answer := enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateAbsent, Source: "alpha", FetchedAt: now})

	between.gate.Lock()
	keeper.Remember(t.Context(), key, answer, now.Add(time.Hour)) // which does not wait for the end
	objects.made.Store(true)
	if _, err := other.EraseSubject(t.Context(), subject); err != nil {
		t.Error(err)
	}
	between.gate.Unlock()
	if err := slow.Close(); err != nil { // it waits for what is being kept
		t.Fatal(err)
	}
	var rows int
	if err := other.Pool().QueryRow(`SELECT COUNT(*) FROM answers WHERE subject = $1`, subject).Scan(&rows); err != nil || rows != 0 {
		t.Errorf("of the erased %d answers are kept, %v", rows, err)
	}
}

// TestWhatIsKeptStaysWhenNobodyCanTell: the list of suppressions cannot be read when
// more is to be kept. That is not kept; a subject that nothing was kept about has no
// row.
func TestWhatIsKeptStaysWhenNobodyCanTell(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]ledger.Config{
		"SQLite":     {Path: filepath.Join(t.TempDir(), "ledger")},
		"PostgreSQL": {PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)},
	} {
		t.Run(name, func(t *testing.T) {
			store := open(t, config)
			var objects objection
			keeper := ledger.Keeper{Caches: forgetful{}, Store: store, Suppressions: &objects, Log: slog.New(slog.DiscardHandler)}
			now := time.Now().Truncate(time.Millisecond)
			keep := func(address, attribute string) string {
				t.Helper()
				normal, err := email.Normalize(address)
				if err != nil {
					t.Fatal(err)
				}
				keeper.Remember(t.Context(), normal.Key(), enrich.NewRecord(enrich.Fact{
					Attribute: enrich.Attribute(attribute), State: enrich.StateAbsent, Source: "alpha", FetchedAt: now,
				}), now.Add(time.Hour))
				return store.SubjectKey(normal.Key())
			}
			known := keep(ada, "person.title")
			objects.away.Store(true)
			keep(ada, "person.city")
			unknown := keep("grace@example.com", "person.title")
			if kept, err := store.Answer(t.Context(), known); err != nil || len(kept.Facts()) != 1 {
				t.Errorf("kept is %v, %v; want the title alone", kept, err)
			}
			var rows int
			if err := store.Pool().QueryRow(`SELECT COUNT(*) FROM answers WHERE subject = $1`, unknown).Scan(&rows); err != nil || rows != 0 {
				t.Errorf("%d rows about somebody of whom nothing is kept, %v", rows, err)
			}
		})
	}
}

// TestAnErasureWaitsForAnAnswerThatIsBeingKept by another process, which does not
// know of it yet.
func TestAnErasureWaitsForAnAnswerThatIsBeingKept(t *testing.T) {
	t.Parallel()
	store := open(t, ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)})
	keeping, err := store.Pool().Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer keeping.Rollback()
	if _, err := keeping.Exec(`INSERT INTO answers (subject, record, keep_until) VALUES ('ada', '', 0)`); err != nil {
		t.Fatal(err)
	}
	erased := make(chan error, 1)
	go func() {
		_, err := store.EraseSubject(context.Background(), "ada")
		erased <- err
	}()
	for waits := false; !waits; {
		select {
		case err := <-erased:
			t.Fatalf("it did not wait: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
		if err := store.Pool().QueryRow(`SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock')`).Scan(&waits); err != nil {
			t.Fatal(err)
		}
	}
	if err := keeping.Commit(); err != nil {
		t.Fatal(err)
	}
	if err := <-erased; err != nil {
		t.Fatal(err)
	}
	if err := store.Pool().QueryRow(`SELECT 1 FROM answers`).Scan(new(int)); err != sql.ErrNoRows {
		t.Errorf("the answer is kept: %v", err)
	}
}
