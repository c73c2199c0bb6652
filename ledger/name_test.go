package ledger_test

import (
	"testing"

	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// TestEveryProcessHasANameOfItsOwn opens a ledger twice under one name, and again
// when the first is no more.
func TestEveryProcessHasANameOfItsOwn(t *testing.T) {
	config := ledger.Config{PostgreSQL: pgtest.Start(t, pgtest.Fast).Database(t)}
	first, second := open(t, config), open(t, config)
	takes := func(store *ledger.Store, want string) {
		t.Helper()
		if err := store.TakeName(t.Context()); err != nil || store.Node() != want {
			t.Errorf("called %s, %v; want %s", store.Node(), err, want)
		}
	}
	takes(first, "node-1")
	takes(second, "node-1-2")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	takes(open(t, config), "node-1")
}
