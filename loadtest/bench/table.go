package main

import (
	"fmt"
	"io"

	"github.com/enrichd/enrichd/loadtest/results"
)

const tableForm = "%-4s  %-50s  %12s  %10s  %10s  %s\n"

// tableHead says where and how is measured, and names the columns.
func (c runCommand) tableHead(w io.Writer, here results.Origin) {
	fmt.Fprintf(w, "%s; load at the start %s\ncommit %s. Measured on core %d with GOMAXPROCS=1, client, Redis and vendors on core %d; %d rounds of %s, the least counts.\n\n",
		here.Machine, here.Load, here.Commit, c.Server, c.Client, c.Rounds, c.Length)
	fmt.Fprintf(w, tableForm, "", "MEASURE", "MEASURED", "MUST", "AIM", "HOW")
}

// tell prints a row, and keeps it if that is wanted: a run may be cut short.
func (c runCommand) tell(w io.Writer, row row, measured result) error {
	fmt.Fprintf(w, tableForm, row.name, row.what, measured.value, row.must, row.aim, measured.detail)
	if c.Markdown == "" || measured.failed {
		return nil
	}
	kept, err := results.Read(c.Markdown)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("%d rounds of %s", c.Rounds, c.Length)
	if len(measured.drains) > 0 {
		how = fmt.Sprintf("runs of %s", c.Drain)
	}
	if measured.detail != "" {
		how = measured.detail + "; " + how
	}
	kept.PutRow(results.Row{
		Name: row.name, What: row.what, Measured: measured.value, Must: row.must, Aim: row.aim,
		How: how, Drains: measured.drains, Origin: results.Here(),
	})
	return kept.Write(c.Markdown)
}
