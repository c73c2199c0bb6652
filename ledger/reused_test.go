package ledger_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/enrichd/enrichd/ledger"
)

// reusedKey accepts leads of several people under one key.
func reusedKey(t *testing.T, store *ledger.Store) {
	keyed := func(address string) ledger.Submission {
		return submission(t, store, address, func(s *ledger.Submission) { s.Key = "order-7" })
	}
	together := accept(t, store, "acme", keyed(ada), keyed("grace@hopper.example"), keyed(ada))
	if !together[0].New || together[0].Reused || !together[1].Reused || together[1].ID != "" || together[2].ID != together[0].ID || together[2].Reused {
		t.Fatalf("at once: %+v", together)
	}
	if later := accept(t, store, "acme", keyed("grace@hopper.example")); !later[0].Reused || later[0].ID != "" || later[0].NeedsJob {
		t.Errorf("later: %+v", later)
	}
	if mixed := accept(t, store, "acme", keyed("grace@hopper.example"), keyed(ada)); !mixed[0].Reused || mixed[1].ID != together[0].ID {
		t.Errorf("another's before the known one's: %+v", mixed)
	}
	folded := submission(t, store, ada, func(s *ledger.Submission) { s.Key, s.Subject = "order-7", "another-key-of-hers" })
	if again := accept(t, store, "acme", keyed(ada), folded); again[0].ID != together[0].ID || again[1].ID != together[0].ID {
		t.Errorf("again: %+v", again)
	}
	if other := accept(t, store, "globex", keyed("grace@hopper.example")); !other[0].New {
		t.Errorf("another account: %+v", other)
	}
}

// reusedEvents receives events again, with the same content and with other.
func reusedEvents(t *testing.T, store *ledger.Store) {
	receive := func(r ledger.Reception) (lead string, err error) {
		err = store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) (err error) {
			lead, err = store.Received(ctx, tx, r)
			return err
		})
		return lead, err
	}
	if lead, err := receive(ledger.Reception{Account: "acme", Event: "e", Lead: "one", Content: []byte(ada)}); lead != "one" || err != nil {
		t.Fatalf("%q, %v", lead, err)
	}
	if lead, err := receive(ledger.Reception{Account: "acme", Event: "e", Lead: "two", Content: []byte(ada)}); lead != "one" || err != nil {
		t.Errorf("the same again: %q, %v", lead, err)
	}
	if lead, err := receive(ledger.Reception{Account: "acme", Event: "e", Lead: "two", Content: []byte("other")}); !errors.Is(err, ledger.ErrReused) {
		t.Errorf("something else: %q, %v", lead, err)
	}
	if lead, err := receive(ledger.Reception{Account: "globex", Event: "e", Lead: "two", Content: []byte("other")}); lead != "two" || err != nil {
		t.Errorf("another account's: %q, %v", lead, err)
	}
	if _, err := store.Pool().Exec(`UPDATE events SET digest = ''`); err != nil {
		t.Fatal(err)
	}
	if lead, err := receive(ledger.Reception{Account: "acme", Event: "e", Lead: "two", Content: []byte("other")}); lead != "one" || err != nil {
		t.Errorf("one from before digests were kept: %q, %v", lead, err)
	}
}
