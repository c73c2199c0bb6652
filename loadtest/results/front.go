package results

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// FrontPage is what the program's front page shows of the results: tables in
// Markdown.
func (r *Results) FrontPage() string {
	var page bytes.Buffer
	page.WriteString("Measured on " + strings.Join(r.machines(), "; ") + ". A row comes from `make bench BENCH=\"--rows ROW\"`.\n")
	r.writeDrains(&page)
	r.writeCosts(&page)
	good := 0
	for _, s := range r.Scenarios {
		if s.Passed {
			good++
		}
	}
	if len(r.Scenarios) > 0 {
		fmt.Fprintf(&page, "\nScenarios of failure and load that hold what they must: %d of %d (`make loadtest LOADTEST=\"run --all\"`).\n", good, len(r.Scenarios))
	}
	return page.String()
}

// writeDrains writes the table of vendors' limits, with a column for each
// policy.
func (r *Results) writeDrains(page *bytes.Buffer) {
	var policies []string
	for _, row := range r.Rows {
		for _, drain := range row.Drains {
			if !slices.Contains(policies, drain.Policy) {
				policies = append(policies, drain.Policy)
			}
		}
	}
	if len(policies) == 0 {
		return
	}
	page.WriteString("\nThree processes with a backlog at a vendor that counts strictly and tells everybody how long to wait: calls done over calls allowed · 429s of 10,000 calls.\n\n")
	line(page, slices.Concat([]string{"row", "vendor's rule"}, policies, []string{"wanted", "commit"})...)
	line(page, slices.Repeat([]string{"---"}, len(policies)+4)...)
	for _, row := range r.Rows {
		if len(row.Drains) == 0 {
			continue
		}
		cells := []string{row.Name, row.rule()}
		for _, policy := range policies {
			cell := "–"
			for _, drain := range row.Drains {
				if drain.Policy == policy {
					cell = drain.String()
				}
			}
			cells = append(cells, cell)
		}
		line(page, append(cells, row.Must, row.Origin.Commit)...)
	}
}

// writeCosts writes the table of the other rows.
func (r *Results) writeCosts(page *bytes.Buffer) {
	others := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return len(row.Drains) > 0 })
	if len(others) == 0 {
		return
	}
	page.WriteString("\nWhat it costs, mostly as a multiple of a bare floor in the same run.\n\n")
	line(page, "row", "measure", "measured", "wanted", "commit")
	line(page, slices.Repeat([]string{"---"}, 5)...)
	for _, row := range others {
		line(page, row.Name, row.What, row.Measured, row.Must, row.Origin.Commit)
	}
}
