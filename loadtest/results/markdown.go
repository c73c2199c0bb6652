package results

import (
	"bytes"
	"fmt"
	"strings"
)

const head = `# Results

The newest measurement of each row and of each scenario; [README.md](README.md) says what is measured how. Written by
` + "`make bench` and `make loadtest` with `--markdown loadtest/RESULTS.md`" + `.
`

const benchHead = `
## Benchmarks

Each figure is a ratio within one run. "Load" is what else the machine did, as its load average at that moment.

| measure | measured | must | aim | how | commit, time, load |
| --- | --- | --- | --- | --- | --- |
`

const scenarioHead = `
## Scenarios

| scenario | verdict | what had to hold: what was measured | commit, time, load |
| --- | --- | --- | --- |
`

// markdown is the page.
func (r *Results) markdown() []byte {
	var page bytes.Buffer
	page.WriteString(head)
	for i, machine := range r.machines() {
		if i == 0 {
			page.WriteString("\nMachines: ")
		} else {
			page.WriteString("; ")
		}
		page.WriteString(machine)
	}
	page.WriteString("\n")
	if len(r.Rows) > 0 {
		page.WriteString(benchHead)
	}
	for _, row := range r.Rows {
		line(&page, row.Name+" "+row.What, row.Measured, row.Must, row.Aim, row.How, row.Origin.String())
	}
	if len(r.Scenarios) > 0 {
		page.WriteString(scenarioHead)
	}
	for _, s := range r.Scenarios {
		verdict := "good"
		if !s.Passed {
			verdict = "**not good**"
		}
		var checks []string
		for _, check := range s.Checks {
			text := fmt.Sprintf("`%s`: %s", check.Line, check.Measured)
			if !check.Passed {
				text = "✗ " + text
			}
			checks = append(checks, text)
		}
		line(&page, fmt.Sprintf("%s, %s", s.Name, s.Length), verdict, strings.Join(checks, "<br>"), s.Origin.String())
	}
	return page.Bytes()
}

// machines that measured, each once.
func (r *Results) machines() (machines []string) {
	seen := map[string]bool{}
	add := func(o Origin) {
		if !seen[o.Machine] {
			seen[o.Machine] = true
			machines = append(machines, o.Machine)
		}
	}
	for _, row := range r.Rows {
		add(row.Origin)
	}
	for _, s := range r.Scenarios {
		add(s.Origin)
	}
	return machines
}

// line writes one line of a table.
func line(page *bytes.Buffer, cells ...string) {
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(strings.ReplaceAll(cell, "|", "\\|"), "\n", " ")
	}
	fmt.Fprintf(page, "| %s |\n", strings.Join(cells, " | "))
}
