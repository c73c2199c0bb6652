package ledger_test

import (
	"context"
	"database/sql"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// forgetful is a cache that has forgotten everything.
type forgetful struct{ enrich.Recall }

func (forgetful) RecallAll(_ context.Context, keys []email.Key) []enrich.Recalled {
	return make([]enrich.Recalled, len(keys))
}
func (forgetful) Remember(context.Context, email.Key, enrich.Record, time.Time) {}
func (forgetful) Forget(context.Context, email.Key) error                       { return nil }

// TestTheLedgerKnowsWhatCachesForget recalls an answer that only the ledger has,
// but for what its provider is not believed any more, until it is forgotten.
func TestTheLedgerKnowsWhatCachesForget(t *testing.T) {
	believed := true
	keeper := ledger.Keeper{
		Caches: forgetful{}, Store: open(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")}),
		Passes: func(fact enrich.Fact) bool { return believed || fact.Source != "alpha" },
		Log:    slog.New(slog.DiscardHandler),
	}
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	address, err := normalizer.Normalize("ada@orchard.example.com")
	if err != nil {
		t.Fatal(err)
	}
	key := address.Key()
	facts := func() int {
		return len(keeper.RecallAll(t.Context(), []email.Key{key})[0].Record.Facts())
	}
	now := time.Now().Truncate(time.Millisecond)
	keeper.Remember(t.Context(), key, enrich.NewRecord(
		enrich.Fact{Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue("Botanist"), Source: "alpha", FetchedAt: now, Confidence: 0.9},
		enrich.Fact{Attribute: "person.title", State: enrich.StateAbsent, Source: "beta", FetchedAt: now},
	), now.Add(time.Hour))
	if got := facts(); got != 2 {
		t.Errorf("%d facts are known, want 2", got)
	}
	believed = false
	if got := facts(); got != 1 {
		t.Errorf("%d facts are known of which one is not believed, want 1", got)
	}
	if err := keeper.Forget(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got := facts(); got != 0 {
		t.Errorf("%d facts are known of a forgotten subject", got)
	}
}

// TestADamagedAnswerCostsNoOther: what cannot be read is not known, the others of
// the same question are, and the next answer about the subject is kept.
func TestADamagedAnswerCostsNoOther(t *testing.T) {
	store := open(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")})
	now := time.Now().Truncate(time.Millisecond)
	answer := enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateAbsent, Source: "alpha", FetchedAt: now})
	keep := func(subject string) {
		t.Helper()
		if err := store.KeepAnswer(t.Context(), subject, answer, now.Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	keep("whole")
	keep("damaged")
	for _, damage := range []string{"?", "AAAA"} {
		if err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `UPDATE answers SET record = $1 WHERE subject = 'damaged'`, damage)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		known, err := store.Answers(t.Context(), []string{"damaged", "whole"})
		if err == nil || !known["damaged"].IsEmpty() || known["whole"].IsEmpty() {
			t.Errorf("%q: knows %v, %v; want the whole one and an error", damage, known, err)
		}
		keep("damaged")
		if known, err := store.Answer(t.Context(), "damaged"); err != nil || known.IsEmpty() {
			t.Errorf("%q: the next answer was not kept: %v", damage, err)
		}
	}
}
