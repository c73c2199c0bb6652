package ledger_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTheLibraryOfSQLiteIsTheOneItWasMadeWith compares the C library that is
// built in with the one that the SQLite driver names: with any other it may
// corrupt memory, and other modules lift it without a word.
func TestTheLibraryOfSQLiteIsTheOneItWasMadeWith(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(module(t, "modernc.org/sqlite", "{{.Dir}}"), "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`modernc\.org/libc (v\S+)`).FindSubmatch(text)
	if named == nil {
		t.Fatal("the driver names no library")
	}
	built := module(t, "modernc.org/libc", "{{with .Replace}}{{.Version}}{{else}}{{.Version}}{{end}}")
	if built != string(named[1]) {
		t.Errorf("built with libc %s; the SQLite driver wants %s: put that into the replace line of go.mod", built, named[1])
	}
}

// module tells something of a module that is built in, from the module cache.
func module(t *testing.T, path, format string) string {
	t.Helper()
	command := exec.Command("go", "list", "-m", "-f", format, path)
	command.Env = append(os.Environ(), "GOPROXY=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(out))
}
