package providers

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/providers/definitions"
)

// TestDefinitions replays what is recorded beside every definition: all cases
// come out as expected and every rule is reached by one.
func TestDefinitions(t *testing.T) {
	library := NewLibrary("")
	for _, name := range definitions.Names {
		t.Run(name, func(t *testing.T) {
			if err := Check(library, name); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestDefinitionNamesListEveryFile(t *testing.T) {
	files, err := fs.Glob(definitions.Files, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if name := strings.TrimSuffix(file, ".yaml"); !slices.Contains(definitions.Names, name) {
			t.Errorf("definitions.Names lacks %s", name)
		}
	}
	if len(files) != len(definitions.Names) {
		t.Errorf("%d files, %d names", len(files), len(definitions.Names))
	}
}

// TestOddities replays what no vendor of ours does, but one may.
func TestOddities(t *testing.T) {
	if err := Check(NewLibrary("testdata/oddities"), "odd"); err != nil {
		t.Error(err)
	}
}

// TestBlindExchanges replays cases that were written from the vendors' facts
// alone, without the definitions at hand, so that they err in other places.
func TestBlindExchanges(t *testing.T) {
	files, err := filepath.Glob("testdata/blind/*.json")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	library := NewLibrary("")
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			cases, err := ReadCases(data)
			if err != nil {
				t.Fatal(err)
			}
			for i, result := range Replay(library, cases) {
				for _, difference := range result.Differences(cases[i].Expect) {
					t.Errorf("%s: %s", result.Name, difference)
				}
			}
		})
	}
}
