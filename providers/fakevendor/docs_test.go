package fakevendor

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestTheDocumentedExamplesWork runs the page's configuration, and its control
// calls against it.
func TestTheDocumentedExamplesWork(t *testing.T) {
	text, err := os.ReadFile("../../docs/fakevendor.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	example := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(page)
	if example == nil {
		t.Fatal("the page shows no configuration")
	}
	config, err := Parse(strings.NewReader(example[1]))
	if err != nil {
		t.Fatal(err)
	}
	calls := regexp.MustCompile(`(?m)^    curl (?:-X (\w+) )?'?localhost:8490([^' \n]*)'?(?: -d '(.*)')?$`).FindAllStringSubmatch(page, -1)
	if len(calls) < 10 {
		t.Fatalf("the page shows %d calls", len(calls))
	}
	bubble(t, config, func(t *testing.T, c *client) {
		for _, call := range calls {
			method := call[1]
			if method == "" {
				method = "GET"
			}
			if got := c.call(method, call[2], call[3]); got.status != 200 {
				t.Errorf("%s: %d %s", strings.TrimSpace(call[0]), got.status, got.body)
			}
		}
	})
}

// TestTheDocumentationIsComplete looks for every word that a configuration may
// use and every operation of every dialect.
func TestTheDocumentationIsComplete(t *testing.T) {
	text, err := os.ReadFile("../../docs/fakevendor.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, kind := range faultKinds {
		if !strings.Contains(page, "`"+string(kind)+"`") {
			t.Errorf("no word of the fault %s", kind)
		}
	}
	for _, form := range hintForms[1:] {
		if !strings.Contains(page, "`"+form+"`") {
			t.Errorf("no word of the hint %s", form)
		}
	}
	for name, d := range dialects {
		if row := fmt.Sprintf("| `%s` | %s |", name, strings.Join(d.operations(), ", ")); !strings.Contains(page, row) {
			t.Errorf("no row %s", row)
		}
	}
}
