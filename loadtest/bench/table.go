package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/enrichd/enrichd/loadtest/results"
)

const tableForm = "%-4s  %-50s  %12s  %10s  %10s  %s\n"

// tableHead says where and how is measured, and names the columns.
func (c runCommand) tableHead(w io.Writer) {
	here := c.origin()
	fmt.Fprintf(w, "%s; load at the start %s\ncommit %s. Measured on core %d with GOMAXPROCS=1, client, Redis and vendors on core %d; %d rounds of %s, of costs the least counts, of C5 the median. A figure that is not what it must be is marked with !\n\n",
		here.Machine, here.Load, here.Commit, c.Server, c.Client, c.Rounds, c.Length)
	fmt.Fprintf(w, tableForm, "", "MEASURE", "MEASURED", "MUST", "AIM", "HOW")
}

// origin is that of what is measured.
func (c runCommand) origin() results.Origin {
	here := results.Here()
	if c.Binary != "" {
		here.Commit = results.BuiltFrom(c.Binary)
	}
	return here
}

// tell prints a row, and keeps it if that is wanted: a run may be cut short.
func (c runCommand) tell(w io.Writer, row row, measured result) error {
	shown := measured.value
	if !measured.failed && !within(measured.value, row.must) {
		shown = "! " + shown
	}
	fmt.Fprintf(w, tableForm, row.name, row.what, shown, row.must, row.aim, measured.detail)
	if c.Markdown == "" || measured.failed {
		return nil
	}
	kept, err := results.Read(c.Markdown)
	if err != nil {
		return err
	}
	how := measured.detail
	if row.rounds {
		how = fmt.Sprintf("%s; %d rounds of %s", how, c.Rounds, c.Length)
	}
	kept.PutRow(results.Row{
		Name: row.name, What: row.what, Measured: measured.value, Must: row.must, Aim: row.aim,
		How: how, Drains: measured.drains, Origin: c.origin(),
	})
	return kept.Write(c.Markdown)
}

// within tells whether every number of a measured value is within the bound that
// stands in its place: "0.99 · 3" is within "≥ .95 · ≤ 10". A bound without a sign is
// the number itself, as the table rounds it.
func within(value, must string) bool {
	split := func(text string) []string {
		return strings.FieldsFunc(text, func(r rune) bool { return r == '·' || r == ';' })
	}
	values, bounds := split(value), split(must)
	if len(values) != len(bounds) {
		return false
	}
	for i, bound := range bounds {
		is, want := numberIn(values[i]), numberIn(bound)
		switch sign := []rune(strings.TrimSpace(bound))[0]; {
		case sign == '≤' && !(is <= want), sign == '≥' && !(is >= want), sign != '≤' && sign != '≥' && math.Round(is*100) != math.Round(want*100):
			return false
		}
	}
	return true
}

// numberIn is the first number of a text, NaN without one.
func numberIn(text string) float64 {
	number, err := strconv.ParseFloat(numeral.FindString(text), 64)
	if err != nil {
		return math.NaN()
	}
	return number
}

var numeral = regexp.MustCompile(`[0-9]*\.?[0-9]+`)
