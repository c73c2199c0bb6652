package ledger_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/ledger"
)

// TestAnErasedSubjectIsNotInTheFile looks for what was erased in the bytes of
// the file and of its log, where SQLite leaves rows that were changed or deleted,
// also when somebody read an older state meanwhile.
func TestAnErasedSubjectIsNotInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "enrichd.db")
	store := open(t, ledger.Config{Path: path})
	sub := submission(t, store, ada, func(s *ledger.Submission) {
		s.Contact = []byte(`{"name":"Ada Lovelace` + strings.Repeat(" Ada Lovelace", 2000) + `"}`)
	})
	receipts := accept(t, store, "acme", sub, submission(t, store, "grace@hopper.example"))
	end(t, store, claim(t, store, receipts[0].ID), ledger.Ending{State: ledger.StateDone, Result: []byte(`{"email":"` + ada + `"}`)})
	reading, err := store.ReadOlderState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.EraseSubject(t.Context(), sub.Subject); err != nil {
		t.Fatal(err)
	}
	held := func() (found []string) {
		for _, name := range []string{path, path + "-wal"} {
			file, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{ada, "Ada Lovelace", sub.Key, "grace@hopper.example"} {
				if bytes.Contains(file, []byte(text)) {
					found = append(found, text)
				}
			}
		}
		return found
	}
	if len(held()) < 2 {
		t.Error("what somebody still reads is gone")
	}
	reading()
	if err := store.Wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := held(); !slices.Equal(found, []string{"grace@hopper.example"}) {
		t.Errorf("the files hold %q", found)
	}
}
