//go:build unix

package ledger_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/enrichd/enrichd/ledger"
)

// TestTheFileIsForItsUserAlone opens a ledger in a folder that others may read.
func TestTheFileIsForItsUserAlone(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	store := open(t, ledger.Config{Path: filepath.Join(folder, "enrichd.db")})
	accept(t, store, "acme", submission(t, store, ada))
	names, err := os.ReadDir(folder)
	if err != nil || len(names) < 2 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range names {
		if info, err := name.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name.Name(), info.Mode(), err)
		}
	}
}
