package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// TestCopyMovesEverything grows up from SQLite to PostgreSQL, and back.
func TestCopyMovesEverything(t *testing.T) {
	from := open(t, ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")})
	var subs []ledger.Submission
	for n := range 450 {
		subs = append(subs, submission(t, from, fmt.Sprintf("n%d@lovelace.example", n), func(s *ledger.Submission) { s.Lane = enrich.Bulk }))
	}
	receipts := accept(t, from, "acme", subs...)
	held := claim(t, from, receipts[0].ID)
	record := enrich.NewRecord(enrich.Fact{Attribute: "person.title", State: enrich.StateValue, Value: enrich.TextValue("Engineer"), Source: "v", FetchedAt: time.Now()})
	if err := from.KeepAnswer(t.Context(), held.Subject, record, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	write(t, from, func(ctx context.Context, tx *sql.Tx) error {
		return errors.Join(
			from.Charge(ctx, tx, ledger.Charge{Key: "k", Account: "acme", Lead: held.ID, Provider: "v", Charged: enrich.KnownCharge(5), At: time.Now()}),
			from.Bury(ctx, tx, ledger.DeadLetter{Kind: ledger.DeadLead, Target: held.ID, Lead: held.ID}))
	})
	if err := from.SetMark(t.Context(), "digest", "2026-01-31"); err != nil {
		t.Fatal(err)
	}
	postgres := open(t, ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)})
	back := open(t, ledger.Config{Path: filepath.Join(t.TempDir(), "back.db")})
	for _, to := range []*ledger.Store{postgres, back} {
		if err := from.CopyTo(t.Context(), to); err != nil {
			t.Fatal(err)
		}
		if err := from.CopyTo(t.Context(), to); !errors.Is(err, ledger.ErrNotEmpty) {
			t.Errorf("copied again: %v", err)
		}
		for _, table := range []string{"leads", "shares", "answers", "charges", "timeline", "dead_letters", "settings"} {
			if want, got := sorted(dump(t, from, table)), sorted(dump(t, to, table)); !slices.Equal(want, got) {
				t.Errorf("%s differs", table)
			}
		}
		address, err := email.Normalize("n7@lovelace.example")
		if err != nil {
			t.Fatal(err)
		}
		if to.SubjectKey(address.Key()) != subs[7].Subject {
			t.Error("subjects have other keys")
		}
		from = to
	}
}

func sorted(text []byte) []string {
	lines := strings.Split(string(text), "\n")
	slices.Sort(lines)
	return lines
}

// TestNobodyCopiesWhatIsInUse copies beside a process that works with one of the
// ledgers.
func TestNobodyCopiesWhatIsInUse(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Fast)
	worked := ledger.Config{PostgreSQL: cluster.Database(t)}
	one, idle := open(t, worked), open(t, ledger.Config{PostgreSQL: cluster.Database(t)})
	service, err := ledger.Open(t.Context(), worked)
	if err != nil {
		t.Fatal(err)
	}
	if err := one.CopyTo(t.Context(), idle); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("copied from a ledger in use: %v", err)
	}
	if err := idle.CopyTo(t.Context(), one); !errors.Is(err, ledger.ErrInUse) {
		t.Errorf("copied into a ledger in use: %v", err)
	}
	if err := service.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); ; { // its connections end a moment later
		if err = one.CopyTo(t.Context(), idle); !errors.Is(err, ledger.ErrInUse) || time.Now().After(deadline) {
			break
		}
	}
	if err != nil {
		t.Errorf("nobody else is there: %v", err)
	}
}

// TestConnectionsHaveTheirDSNsName lets operators tell services apart.
func TestConnectionsHaveTheirDSNsName(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Fast)
	database := cluster.Database(t)
	for more, want := range map[string]string{"": "enrichd", "&application_name=crm": "crm"} {
		store := open(t, ledger.Config{PostgreSQL: database + more})
		var name string
		if err := store.Pool().QueryRow(`SELECT application_name FROM pg_stat_activity WHERE pid = pg_backend_pid()`).Scan(&name); err != nil || name != want {
			t.Errorf("%q is called %q, %v", more, name, err)
		}
	}
}
