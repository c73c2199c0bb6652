package rules

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestScaleShowsTheKeptResults finds figures of docs/scale.md that were measured
// anew since: each is taken from its row of the results and looked for with the
// words around it.
func TestScaleShowsTheKeptResults(t *testing.T) {
	results, err := os.ReadFile("loadtest/RESULTS.md")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("docs/scale.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ")
	asItIs := func(figure string) string { return figure }
	milliseconds := func(micros string) string {
		figure, err := strconv.ParseFloat(micros, 64)
		if err != nil {
			t.Fatal(err)
		}
		return strconv.FormatFloat(figure/1000, 'f', 2, 64)
	}
	grouped := func(figure string) string {
		if len(figure) > 3 {
			figure = figure[:len(figure)-3] + "," + figure[len(figure)-3:]
		}
		return figure
	}
	const spent = `([0-9.]+) µs over [0-9.]+ µs per record`
	for _, shown := range []struct {
		row, measured string
		as            func(string) string
		before, after string
	}{
		{"C7", spent, milliseconds, "A miss takes ", " ms of one core (C7)"},
		{"C2", spent, milliseconds, "a Redis hit ", " ms (C2)"},
		{"C1", spent, milliseconds, "a memory hit ", " ms (C1)"},
		{"R2", `keys of ([0-9]+) bytes each`, grouped, "a record takes ", " bytes in Redis, its key included (R2)"},
		{"M1f", `([0-9]+ MiB) at most`, asItIs, "comes to hold: ", " in all once many leads have passed (M1f)"},
	} {
		row := regexp.MustCompile(`(?m)^\| ` + shown.row + ` .*?` + shown.measured).FindSubmatch(results)
		if row == nil {
			t.Errorf("loadtest/RESULTS.md has no figure of %s", shown.row)
			continue
		}
		if want := shown.before + shown.as(string(row[1])) + shown.after; !strings.Contains(page, want) {
			t.Errorf("docs/scale.md does not say %q, nor count with it: %s was measured anew", want, shown.row)
		}
	}
}
