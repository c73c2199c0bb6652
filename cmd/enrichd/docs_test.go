package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

var (
	commandLine = regexp.MustCompile("(?m)(?:^    |`)enrichd ([^`#\\n]+)")
	flagName    = regexp.MustCompile(`(?:^|\s)--([a-z][a-z-]*)`)
	loneFlag    = regexp.MustCompile("`--([a-z][a-z-]*)[^`]*`")
)

// TestDocumentedCommandsExist checks every command line of enrichd that a page
// shows, and every flag that it names.
func TestDocumentedCommandsExist(t *testing.T) {
	parser, err := kong.New(&commands{})
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	everyFlag := map[string]bool{}
	shown := 0
	collectFlags(parser.Model.Node, everyFlag)
	for _, page := range append(pages, "../../README.md") {
		text := readText(t, page)
		for _, found := range commandLine.FindAllStringSubmatch(text, -1) {
			shown++
			node, flags := parser.Model.Node, map[string]bool{"help": true}
			for _, word := range strings.Fields(found[1]) {
				if child := childOf(node, word); child != nil {
					node = child
				}
			}
			if node == parser.Model.Node {
				t.Errorf("%s shows enrichd %s, which is no command", page, found[1])
				continue
			}
			for _, flag := range node.Flags {
				flags[flag.Name] = true
			}
			for _, flag := range flagName.FindAllStringSubmatch(found[1], -1) {
				if !flags[flag[1]] {
					t.Errorf("%s shows enrichd %s, which has no --%s", page, found[1], flag[1])
				}
			}
		}
		for _, found := range loneFlag.FindAllStringSubmatch(text, -1) {
			if !everyFlag[found[1]] {
				t.Errorf("%s names --%s, which no command has", page, found[1])
			}
		}
	}
	if shown < 5 {
		t.Errorf("only %d command lines found", shown)
	}
}

func childOf(node *kong.Node, name string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == name {
			return child
		}
	}
	return nil
}

func collectFlags(node *kong.Node, into map[string]bool) {
	for _, flag := range node.Flags {
		into[flag.Name] = true
	}
	for _, child := range node.Children {
		collectFlags(child, into)
	}
}
