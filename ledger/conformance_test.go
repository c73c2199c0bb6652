package ledger_test

import (
	"context"
	"database/sql"
	"errors"
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

// TestConformance holds both databases to the same promises.
func TestConformance(t *testing.T) {
	cluster := pgtest.Start(t, pgtest.Fast)
	databases := map[string]func(*testing.T) ledger.Config{
		"sqlite":     func(t *testing.T) ledger.Config { return ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db")} },
		"postgresql": func(t *testing.T) ledger.Config { return ledger.Config{PostgreSQL: cluster.Database(t)} },
	}
	promises := map[string]func(*testing.T, *ledger.Store){
		"the same key is the same lead":         sameKey,
		"a key is one subject's":                reusedKey,
		"an event's id is one event":            reusedEvents,
		"a wider request works the lead again":  widen,
		"one claim wins, and an old one lapses": claims,
		"a lost worker writes nothing":          fences,
		"what a crash left behind counts":       takeBack,
		"accounts are fed by turns":             turns,
		"a heavier account has more turns":      weights,
		"what was kept long enough goes":        retention,
		"a failed write takes nothing with it":  isolation,
		"timelines keep the last fifty":         timeline,
		"a charge is written once":              charges,
		"answers join and last":                 answers,
		"a delivery is posted once, in order":   outbox,
		"one open dead letter for a target":     deadLetters,
		"no text comes in that cannot be moved": unmovable,
		"imports go on where they stopped":      imports,
		"switches last as long as the longest":  switches,
		"erasure reaches every table":           erasure,
		"what is pending is counted by sink":    backlogs,
		"of many who replace a mark one does":   marks,
		"erasures and deliveries end together":  crossing,
	}
	for database, config := range databases {
		for name, promise := range promises {
			t.Run(database+"/"+name, func(t *testing.T) {
				promise(t, open(t, config(t)))
			})
		}
	}
}

func open(t testing.TB, config ledger.Config) *ledger.Store {
	t.Helper()
	config.Node = "node-1"
	store, err := ledger.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	return store
}

const ada = "ada@lovelace.example"

func submission(t testing.TB, store *ledger.Store, address string, change ...func(*ledger.Submission)) ledger.Submission {
	t.Helper()
	normalized, err := email.Normalize(address)
	if err != nil {
		t.Fatal(err)
	}
	sub := ledger.Submission{
		Key:      email.IdempotencyKey(normalized, time.Now()),
		Subject:  store.SubjectKey(normalized.Key()),
		Address:  normalized.Reveal(),
		Lane:     enrich.Interactive,
		Want:     ledger.Want{Attributes: []enrich.Attribute{"person.title"}},
		Origin:   "api",
		Deadline: time.Now().Add(time.Hour),
	}
	for _, one := range change {
		one(&sub)
	}
	return sub
}

func accept(t testing.TB, store *ledger.Store, account string, submissions ...ledger.Submission) []ledger.Receipt {
	t.Helper()
	var receipts []ledger.Receipt
	write(t, store, func(ctx context.Context, tx *sql.Tx) (err error) {
		receipts, err = store.Accept(ctx, tx, account, submissions)
		return err
	})
	return receipts
}

func write(t testing.TB, store *ledger.Store, work func(context.Context, *sql.Tx) error) {
	t.Helper()
	if err := store.Write(t.Context(), work); err != nil {
		t.Fatal(err)
	}
}

func claim(t testing.TB, store *ledger.Store, id string) ledger.Lead {
	t.Helper()
	lead, err := store.Claim(t.Context(), id, enrich.Standard, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	return lead
}

func end(t testing.TB, store *ledger.Store, lead ledger.Lead, ending ledger.Ending) (again bool) {
	t.Helper()
	ending.Lead = lead
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		ended, err := store.End(ctx, tx, ending)
		if err == nil {
			again = ended[0].Again
		}
		return err
	})
	return again
}

func lead(t testing.TB, store *ledger.Store, id string) ledger.Lead {
	t.Helper()
	found, err := store.Lead(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func sameKey(t *testing.T, store *ledger.Store) {
	sub := submission(t, store, ada)
	receipts := accept(t, store, "acme", sub, sub)
	if !receipts[0].New || !receipts[0].NeedsJob || receipts[1].New || receipts[1].NeedsJob || receipts[0].ID != receipts[1].ID {
		t.Errorf("the same lead twice in one batch: %+v", receipts)
	}
	again := accept(t, store, "acme", sub)
	if again[0].New || again[0].Widened || again[0].ID != receipts[0].ID {
		t.Errorf("the same lead again: %+v", again)
	}
	if other := accept(t, store, "globex", sub); !other[0].New || other[0].ID == receipts[0].ID {
		t.Errorf("another account's lead: %+v", other)
	}
}

func widen(t *testing.T, store *ledger.Store) {
	sub := submission(t, store, ada)
	id := accept(t, store, "acme", sub)[0].ID
	held := claim(t, store, id)
	sub.Want = ledger.Want{Attributes: []enrich.Attribute{"person.phone"}}
	if receipt := accept(t, store, "acme", sub)[0]; !receipt.Widened || receipt.NeedsJob {
		t.Errorf("while it is worked: %+v", receipt)
	}
	if !end(t, store, held, ledger.Ending{State: ledger.StateDone}) {
		t.Error("the lead ended without what was asked for meanwhile")
	}
	held = claim(t, store, id)
	if want := []enrich.Attribute{"person.phone", "person.title"}; !slices.Equal(held.Want.Attributes, want) {
		t.Errorf("wants %v", held.Want.Attributes)
	}
	if end(t, store, held, ledger.Ending{State: ledger.StateDone}) {
		t.Error("worked again for nothing")
	}
	sub.Want = ledger.Want{All: true}
	if receipt := accept(t, store, "acme", sub)[0]; !receipt.Widened || !receipt.NeedsJob || receipt.State != ledger.StateNone {
		t.Errorf("after its end: %+v", receipt)
	}
}

func claims(t *testing.T, store *ledger.Store) {
	id := accept(t, store, "acme", submission(t, store, ada))[0].ID
	won := make(chan bool)
	for range 8 {
		go func() {
			_, err := store.Claim(context.Background(), id, enrich.Standard, time.Hour)
			won <- err == nil
		}()
	}
	wins := 0
	for range 8 {
		if <-won {
			wins++
		}
	}
	if wins != 1 {
		t.Errorf("%d claims won", wins)
	}
	late, err := store.Claim(t.Context(), id, enrich.Bulk, -time.Hour) // held for longer than that
	if err != nil || !late.Crashed || late.Attempts != 2 {
		t.Errorf("after its time: %+v, %v", late, err)
	}
	if _, err := store.Claim(t.Context(), "none", enrich.Standard, time.Hour); !errors.Is(err, ledger.ErrTaken) {
		t.Errorf("no lead: %v", err)
	}
}

func fences(t *testing.T, store *ledger.Store) {
	id := accept(t, store, "acme", submission(t, store, ada))[0].ID
	lost := claim(t, store, id)
	write(t, store, func(ctx context.Context, tx *sql.Tx) error { return store.Reset(ctx, tx, id) })
	if got := lead(t, store, id); !got.StartedAt.IsZero() {
		t.Errorf("nobody works it, since %s", got.StartedAt)
	}
	held := claim(t, store, id)
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		ended, err := store.End(ctx, tx, ledger.Ending{Lead: lost, State: ledger.StateDone})
		if err == nil && !ended[0].Lost {
			t.Errorf("the lost worker's end: %+v", ended[0])
		}
		return err
	})
	write(t, store, func(ctx context.Context, tx *sql.Tx) error { // both at once
		ended, err := store.End(ctx, tx, ledger.Ending{Lead: lost, State: ledger.StateDone},
			ledger.Ending{Lead: held, State: ledger.StatePartial, Result: []byte(`{}`), Cost: 7})
		if err == nil && (!ended[0].Lost || ended[1].Lost) {
			t.Errorf("the ends of both workers: %+v", ended)
		}
		return err
	})
	if got := lead(t, store, id); got.State != ledger.StatePartial || got.Cost != 7 {
		t.Errorf("ended as %+v", got)
	}
}

func takeBack(t *testing.T, store *ledger.Store) {
	id := accept(t, store, "acme", submission(t, store, ada))[0].ID
	claim(t, store, id)
	if count, err := store.TakeBack(t.Context()); err != nil || count != 1 {
		t.Fatalf("took back %d, %v", count, err)
	}
	if got := lead(t, store, id); !got.StartedAt.IsZero() {
		t.Errorf("nobody works it, since %s", got.StartedAt)
	}
	if held := claim(t, store, id); held.Attempts != 2 || !held.Crashed {
		t.Errorf("after the crash: %+v", held)
	}
	waited := lead(t, store, id)
	write(t, store, func(ctx context.Context, tx *sql.Tx) error {
		return store.PutBack(ctx, tx, waited, ledger.Ending{Reason: "throttled"}, false)
	})
	if got := lead(t, store, id); got.State != ledger.StateNone || got.Attempts != 1 {
		t.Errorf("a wait counted: %+v", got)
	}
}

func turns(t *testing.T, store *ledger.Store) {
	bulk := func(s *ledger.Submission) { s.Lane = enrich.Bulk }
	of := map[string]string{}
	submit := func(account string, count int) {
		var subs []ledger.Submission
		for i := range count {
			subs = append(subs, submission(t, store, account+"-"+strings.Repeat("x", i+1)+"@lovelace.example", bulk))
		}
		for _, receipt := range accept(t, store, account, subs...) {
			of[receipt.ID] = account
		}
	}
	feed := func(most int, paused ...string) (accounts []string) {
		write(t, store, func(ctx context.Context, tx *sql.Tx) error {
			fed, err := store.Feed(ctx, tx, enrich.Bulk, most, paused)
			for _, lead := range fed {
				accounts = append(accounts, of[lead.ID])
			}
			return err
		})
		return accounts
	}
	submit("big", 30)
	if first := feed(4); !slices.Equal(first, []string{"big", "big", "big", "big"}) {
		t.Errorf("alone: %v", first)
	}
	submit("small", 3)
	if held := feed(2, "big"); !slices.Equal(held, []string{"small", "small"}) {
		t.Errorf("while big is paused: %v", held)
	}
	submit("late", 3)
	next := feed(8)
	for _, account := range []string{"small", "late"} {
		if !slices.Contains(next, account) {
			t.Errorf("%s waits for all of big: %v", account, next)
		}
	}
	if rest := feed(100); len(rest) != 22 {
		t.Errorf("%d left", len(rest))
	}
}

func isolation(t *testing.T, store *ledger.Store) {
	sub := submission(t, store, ada)
	broken := errors.New("broken")
	done := make(chan error)
	for i := range 20 {
		go func() {
			done <- store.Write(context.Background(), func(ctx context.Context, tx *sql.Tx) error {
				own := sub
				own.Key = strings.Repeat("k", i+1)
				if _, err := store.Accept(ctx, tx, "acme", []ledger.Submission{own}); err != nil {
					return err
				}
				switch {
				case i == 7:
					panic("a bug")
				case i%2 == 0:
					return broken
				}
				return nil
			})
		}()
	}
	failed := 0
	for range 20 {
		if err := <-done; err != nil {
			failed++
		}
	}
	leads, err := store.Leads(t.Context(), ledger.Filter{Account: "acme"})
	if want := 20 - failed; err != nil || len(leads) != want || failed != 11 {
		t.Errorf("%d failed, %d leads, %v", failed, len(leads), err)
	}
}
