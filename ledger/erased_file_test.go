package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/ledger"
)

// TestAnErasedSubjectIsNotInTheFile looks for what was erased in the bytes of
// the file, where SQLite leaves rows that were changed or deleted.
func TestAnErasedSubjectIsNotInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "enrichd.db")
	store := open(t, ledger.Config{Path: path})
	sub := submission(t, store, ada, func(s *ledger.Submission) {
		s.Contact = []byte(`{"name":"Ada Lovelace` + strings.Repeat(" Ada Lovelace", 2000) + `"}`)
	})
	receipts := accept(t, store, "acme", sub, submission(t, store, "grace@hopper.example"))
	end(t, store, claim(t, store, receipts[0].ID), ledger.Ending{State: ledger.StateDone, Result: []byte(`{"email":"` + ada + `"}`)})
	if _, err := store.EraseSubject(t.Context(), sub.Subject); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Pool().Exec(`PRAGMA wal_checkpoint(TRUNCATE)`); err != nil { // writes all of the log back
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{ada, "Ada Lovelace", sub.Key} {
		if bytes.Contains(file, []byte(text)) {
			t.Errorf("the file still holds %q", text)
		}
	}
	if !bytes.Contains(file, []byte("grace@hopper.example")) {
		t.Error("the file does not hold who was not erased")
	}
}
