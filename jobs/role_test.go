package jobs_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// TestARoleThatMayCreateInItsSchema works leads off as a role with the rights
// that docs/leads.md asks for and no other.
func TestARoleThatMayCreateInItsSchema(t *testing.T) {
	owners := pgtest.Start(t, pgtest.Fast).Database(t)
	owner, err := sql.Open("pgx", owners)
	if err != nil {
		t.Fatal(err)
	}
	defer owner.Close()
	if _, err := owner.Exec("CREATE ROLE plain LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC"); err != nil {
		t.Fatal(err)
	}
	config := ledger.Config{PostgreSQL: strings.Replace(owners, "//enrichd@", "//plain@", 1)}
	if _, err := ledger.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), "permission denied for schema public") {
		t.Fatalf("without the right: %v", err)
	}
	if _, err := owner.Exec("GRANT CREATE ON SCHEMA public TO plain"); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{ada, grace} { // the tables are made, and then there
		config.Node = address // no two work under one name
		w := newWorld(t, config, true)
		id := w.submit(t, jobs.Lead{Email: address})[0].Receipt.ID
		if lead := w.ends(t, id); lead.State != ledger.StateDone {
			t.Errorf("%+v", lead)
		}
	}
}
