package router_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTrapsAreShown keeps the list of traps in docs/routing.md true: every test
// and scenario that it names exists.
func TestTrapsAreShown(t *testing.T) {
	page, err := os.ReadFile("../docs/routing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, list, found := strings.Cut(string(page), "## Traps")
	if !found {
		t.Fatal("the page has no list of traps")
	}
	var tests strings.Builder
	for _, folder := range []string{".", "../quota"} {
		files, err := filepath.Glob(folder + "/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tests.Write(text)
		}
	}
	traps := 0
	for line := range strings.Lines(list) {
		names := regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1)
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| trap") || strings.HasPrefix(line, "| ---") {
			continue
		}
		traps++
		if len(names) == 0 {
			t.Errorf("nothing shows it: %s", line)
		}
		for _, name := range names {
			switch {
			case strings.HasSuffix(name[1], ".txt"):
				if _, err := os.Stat("testdata/" + name[1]); err != nil {
					t.Errorf("there is no scenario %s", name[1])
				}
			case !strings.Contains(tests.String(), "func "+name[1]+"(t *testing.T)"):
				t.Errorf("there is no test %s", name[1])
			}
		}
	}
	if traps < 30 {
		t.Errorf("only %d traps are listed", traps)
	}
}
