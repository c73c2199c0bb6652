package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/enrichd/enrichd/loadtest/results"
)

// Where the front page keeps its figures.
const (
	figuresBegin = "<!-- figures: written by go run ./loadtest publish -->\n"
	figuresEnd   = "<!-- end of figures -->\n"
)

// publishCommand shows kept results to everybody.
type publishCommand struct {
	Results string `default:"loadtest/RESULTS.md" type:"path" help:"The page that the results are kept beside." placeholder:"FILE.md"`
	Page    string `default:"README.md" type:"existingfile" help:"The page that gets tables." placeholder:"FILE.md"`
	Chart   string `default:"docs/quota.svg" type:"path" help:"The drawing of service and usual policies." placeholder:"FILE.svg"`
}

// Run writes the tables into the page and draws the chart.
func (c *publishCommand) Run() error {
	kept, err := results.Read(c.Results)
	if err != nil {
		return err
	}
	var chart bytes.Buffer
	if err := kept.Chart(&chart); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Clean(c.Page))
	if err != nil {
		return err
	}
	before, rest, begun := strings.Cut(string(text), figuresBegin)
	_, after, ended := strings.Cut(rest, figuresEnd)
	if !begun || !ended {
		return fmt.Errorf("%s has no place for figures: %q and %q", c.Page, strings.TrimSpace(figuresBegin), strings.TrimSpace(figuresEnd))
	}
	page := before + figuresBegin + "\n" + kept.FrontPage() + "\n" + figuresEnd + after
	if err := os.WriteFile(c.Page, []byte(page), 0o644); err != nil {
		return err
	}
	return os.WriteFile(c.Chart, chart.Bytes(), 0o644)
}
