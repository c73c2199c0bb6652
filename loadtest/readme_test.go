package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

// TestREADMEIsTrue reads the scenarios of the README and looks for its options.
func TestREADMEIsTrue(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(blocks) < 2 {
		t.Errorf("only %d scenarios", len(blocks))
	}
	for _, block := range blocks {
		s, err := scenario.Parse("README.md", strings.NewReader(block[1]))
		if err != nil {
			t.Error(err)
		} else if err := checkSLO(s); err != nil {
			t.Error(err)
		}
	}
	parser, err := kong.New(&command{})
	if err != nil {
		t.Fatal(err)
	}
	options := map[string]bool{}
	for _, node := range parser.Model.Children {
		for _, flag := range node.Flags {
			options["--"+flag.Name] = true
		}
	}
	loadTests, _, _ := strings.Cut(string(text), "## Benchmarks")
	for _, option := range regexp.MustCompile(`--[a-z]+`).FindAllString(loadTests, -1) {
		if !options[option] {
			t.Errorf("there is no option %s", option)
		}
	}
}
