//go:build unix

package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTwoRunsDoNotWriteTheSameResults(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	first, err := openResults(path, io.Discard, []string{"email"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := openResults(path, io.Discard, []string{"email"}); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("a second run at once: %v", err)
	}
	if err := first.close(nil); err != nil {
		t.Fatal(err)
	}
	again, err := openResults(path, io.Discard, []string{"email"})
	if err != nil {
		t.Fatalf("after the first has ended: %v", err)
	}
	if err := again.close(nil); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
