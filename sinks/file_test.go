package sinks_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/sinks"
)

// TestTwoCannotWriteOneFile, whatever they call it: they would write over each
// other's lines. flock(2) does not care whether both are in one process.
func TestTwoCannotWriteOneFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "out.ndjson")
	first, err := sinks.NewFile(sinks.FileConfig{Name: "first", Path: path, RotateBytes: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	refused := func(path string) {
		t.Helper()
		second, err := sinks.NewFile(sinks.FileConfig{Name: "second", Path: path})
		if err == nil {
			second.Close()
			t.Fatal("a second sink writes the same file")
		}
		if !strings.Contains(err.Error(), "a file of its own") {
			t.Errorf("refused with %q", err)
		}
	}
	for n := range 3 { // each begins the file anew
		if err := first.Deliver(t.Context(), message(n)); err != nil {
			t.Fatal(err)
		}
		refused(path)
		refused(link)
	}
	if has := readLines(t, path+"*"); len(has) != 3 {
		t.Errorf("the files have %v", has)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := sinks.NewFile(sinks.FileConfig{Name: "second", Path: path})
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	second.Close()
}

func TestTwoSinksOfOneFileAreReported(t *testing.T) {
	config := sinks.Config{Files: []sinks.FileConfig{{Name: "a", Path: "data/out.ndjson"}, {Name: "b", Path: "data/./out.ndjson"}}}
	problems := config.Validate()
	if len(problems) != 1 || problems[0].Error() != "files[1].path: another sink has it" {
		t.Errorf("reported: %v", problems)
	}
}
