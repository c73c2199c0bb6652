//go:build unix

package heldfile_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/enrichd/enrichd/heldfile"
)

// opens names the file that a process of its own is to open, and nothing else.
const opens = "ENRICHD_TEST_OPENS"

func TestMain(m *testing.M) {
	path := os.Getenv(opens)
	if path == "" {
		os.Exit(m.Run())
	}
	if _, err := heldfile.Open(path); errors.Is(err, heldfile.ErrHeld) {
		os.Exit(3)
	} else if err != nil {
		os.Exit(4)
	}
	os.Exit(0) // without closing it, as a process ends that is killed
}

// opened is the exit code of another process that opens the file: 0 when it got
// it, 3 when somebody else holds it.
func opened(t *testing.T, path string) int {
	t.Helper()
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), opens+"="+path)
	var exit *exec.ExitError
	if err := other.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return other.ProcessState.ExitCode()
}

func TestOneHoldsAFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if code := opened(t, path); code != 0 {
		t.Fatalf("a file that nobody holds: exit %d", code)
	}
	file, err := heldfile.Open(path)
	if err != nil {
		t.Fatalf("after the process that held it has ended: %v", err)
	}
	if info, err := file.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("made as %v, %v", info.Mode(), err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, by := range []string{path, link} {
		if _, err := heldfile.Open(by); !errors.Is(err, heldfile.ErrHeld) {
			t.Errorf("opened once more: %v", err)
		}
		if code := opened(t, by); code != 3 {
			t.Errorf("opened by another process: exit %d", code)
		}
	}
	if _, err := file.WriteString("kept"); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := heldfile.Open(path)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	defer again.Close()
	if text, err := os.ReadFile(path); err != nil || string(text) != "kept" {
		t.Errorf("has %q, %v", text, err)
	}
}

// TestOtherErrorsAreNotTakenForAnOwner: who waits for somebody to let go of a
// file that cannot be opened waits for ever.
func TestOtherErrorsAreNotTakenForAnOwner(t *testing.T) {
	_, err := heldfile.Open(filepath.Join(t.TempDir(), "missing", "file"))
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, heldfile.ErrHeld) {
		t.Errorf("in a folder that is not there: %v", err)
	}
}
