package rules

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the documents that a reader meets.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("docs/*.md")
	if err != nil || len(names) < 3 {
		t.Fatalf("only %d pages found, %v", len(names), err)
	}
	texts := map[string]string{}
	for _, name := range append(names, "README.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[name] = string(text)
	}
	return texts
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

func TestLinksLeadSomewhere(t *testing.T) {
	for page, text := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := page
			if target != "" {
				path = filepath.Join(filepath.Dir(page), target)
			}
			linked, err := os.ReadFile(path)
			if info, statErr := os.Stat(path); statErr != nil || err != nil && !info.IsDir() {
				t.Errorf("%s links to %s, which is not there", page, found[1])
			} else if anchor != "" && !hasHeading(string(linked), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, found[1])
			}
		}
	}
}

var notInAnchors = regexp.MustCompile(`[^a-z0-9 _-]`)

func hasHeading(text, anchor string) bool {
	for line := range strings.Lines(text) {
		title, isHeading := strings.CutPrefix(strings.TrimLeft(line, "#"), " ")
		words := notInAnchors.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
		if isHeading && strings.HasPrefix(line, "#") && strings.ReplaceAll(words, " ", "-") == anchor {
			return true
		}
	}
	return false
}

var (
	madeTarget = regexp.MustCompile("(?m)(?:^    |`)make ([a-z-]+)(?: ([A-Z]+)=)?")
	ruleOf     = regexp.MustCompile(`(?m)^([a-z-]+):.*## `)
	aFile      = regexp.MustCompile("`((?:[a-z]+/)+[a-z_.-]*[a-z])`")
)

// TestMakeTargetsExist checks every make command that a page shows, and its
// variable.
func TestMakeTargetsExist(t *testing.T) {
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]bool{}
	for _, rule := range ruleOf.FindAllStringSubmatch(string(makefile), -1) {
		targets[rule[1]] = true
	}
	shown := 0
	for page, text := range pages(t) {
		for _, found := range madeTarget.FindAllStringSubmatch(text, -1) {
			shown++
			if !targets[found[1]] {
				t.Errorf("%s says make %s, which the Makefile does not know or does not explain", page, found[1])
			}
			if found[2] != "" && !strings.Contains(string(makefile), "$("+found[2]+")") {
				t.Errorf("%s says make %s %s=…, which the Makefile does not use", page, found[1], found[2])
			}
		}
	}
	if shown < 3 {
		t.Errorf("only %d make commands found", shown)
	}
}

// TestNamedFilesExist checks every path of ours that a page names.
func TestNamedFilesExist(t *testing.T) {
	named := 0
	for page, text := range pages(t) {
		for _, found := range aFile.FindAllStringSubmatch(text, -1) {
			folder, _, _ := strings.Cut(found[1], "/")
			if _, err := os.Stat(folder); err != nil {
				continue // not a path of ours
			}
			named++
			if _, err := os.Stat(found[1]); err != nil {
				t.Errorf("%s names %s, which is not there", page, found[1])
			}
		}
	}
	if named < 5 {
		t.Errorf("only %d paths found", named)
	}
}
