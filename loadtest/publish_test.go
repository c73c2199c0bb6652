package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/results"
)

// TestPublishReplacesFiguresAlone publishes twice, the second time other
// figures.
func TestPublishReplacesFiguresAlone(t *testing.T) {
	dir := t.TempDir()
	c := publishCommand{Results: filepath.Join(dir, "R.md"), Page: filepath.Join(dir, "README.md"), Chart: filepath.Join(dir, "c.svg")}
	if err := os.WriteFile(c.Page, []byte("before\n"+figuresBegin+figuresEnd+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, done := range []float64{0.25, 0.75} {
		kept := results.Results{}
		kept.PutRow(results.Row{Name: "Q1", Drains: []results.Drain{{Policy: results.Service, Done: done}, {Policy: "hope"}}})
		if err := kept.Write(c.Results); err != nil {
			t.Fatal(err)
		}
		if err := c.Run(); err != nil {
			t.Fatal(err)
		}
	}
	page, err := os.ReadFile(c.Page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	if !strings.HasPrefix(text, "before\n"+figuresBegin) || !strings.HasSuffix(text, figuresEnd+"after\n") || !strings.Contains(text, "0.750") || strings.Contains(text, "0.250") {
		t.Errorf("published:\n%s", text)
	}
	if chart, err := os.ReadFile(c.Chart); err != nil || !strings.Contains(string(chart), "75.0 %") {
		t.Errorf("chart %s, %v", chart, err)
	}
	if err := os.WriteFile(c.Page, []byte("no place"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err == nil {
		t.Error("published where there is no place for figures")
	}
}
