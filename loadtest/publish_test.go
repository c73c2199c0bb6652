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

// TestFrontPageShowsTheKeptResults finds results that were kept and not
// published.
func TestFrontPageShowsTheKeptResults(t *testing.T) {
	const page, chart = "../README.md", "../docs/quota.svg"
	dir := t.TempDir()
	c := publishCommand{Results: "RESULTS.md", Page: filepath.Join(dir, "README.md"), Chart: filepath.Join(dir, "quota.svg")}
	shown, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.Page, shown, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	for kept, published := range map[string]string{page: c.Page, chart: c.Chart} {
		shown, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		would, err := os.ReadFile(published)
		if err != nil {
			t.Fatal(err)
		}
		if string(shown) != string(would) {
			t.Errorf("%s does not show the kept results: run go run ./loadtest publish", kept)
		}
	}
}
