package providers

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// TestDocumentedDefinition checks the example of docs/vendors.md as a user
// would after copying it into a folder.
func TestDocumentedDefinition(t *testing.T) {
	page, err := os.ReadFile("../docs/vendors.md")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	blocks := regexp.MustCompile("(?s)<!-- (acme[a-z.]+) -->\n```[a-z]+\n(.*?)```").FindAllSubmatch(page, -1)
	if len(blocks) != 2 {
		t.Fatalf("the page has %d files of the example, want 2", len(blocks))
	}
	for _, block := range blocks {
		if err := os.WriteFile(filepath.Join(folder, string(block[1])), block[2], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Check(NewLibrary(folder), "acme"); err != nil {
		t.Error(err)
	}
}
