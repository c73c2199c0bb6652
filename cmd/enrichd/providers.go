package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/providers/engine"
)

// providersCommand works with vendor definitions.
type providersCommand struct {
	List   providersListCommand   `cmd:"" help:"List the definitions and what they supply."`
	Check  providersCheckCommand  `cmd:"" help:"Check definitions and replay the exchanges recorded beside them."`
	Replay providersReplayCommand `cmd:"" help:"Run recorded exchanges through their definitions; one JSON line each."`
}

// definitionsFlag names the folder of the operator's own definitions.
type definitionsFlag struct {
	Folder string `type:"existingdir" help:"A folder of definitions of your own, which go before the built-in ones." placeholder:"DIR"`
}

func (f definitionsFlag) library() providers.Library { return providers.NewLibrary(f.Folder) }

// providersListCommand lists definitions.
type providersListCommand struct {
	definitionsFlag
	JSON bool `name:"json" help:"Print JSON lines."`
}

// listedDefinition is a definition as list shows it.
type listedDefinition struct {
	Name         string             `json:"name"`
	Title        string             `json:"title"`
	AsOf         string             `json:"as_of"`
	VerifiedLive bool               `json:"verified_live"`
	Experimental bool               `json:"experimental"`
	Calls        []string           `json:"calls"`
	Attributes   []enrich.Attribute `json:"attributes"`
}

// Run lists them.
func (c *providersListCommand) Run(terminal terminal) error {
	library := c.library()
	names, err := library.Names()
	if err != nil {
		return err
	}
	table := tabwriter.NewWriter(terminal.out, 0, 0, 2, ' ', 0)
	if !c.JSON {
		fmt.Fprintln(table, "NAME\tVENDOR\tAS OF\tVERIFIED LIVE\tCALLS\tATTRIBUTES")
	}
	for _, name := range names {
		definition, err := library.Load(name)
		if err != nil {
			return err
		}
		listed := listedDefinition{Name: name, Title: definition.Title, AsOf: definition.AsOf, VerifiedLive: definition.VerifiedLive, Experimental: definition.Experimental}
		for _, call := range definition.Calls() {
			listed.Calls = append(listed.Calls, call.Operation)
			listed.Attributes = append(listed.Attributes, call.Supplies()...)
		}
		slices.Sort(listed.Attributes)
		listed.Attributes = slices.Compact(listed.Attributes)
		if c.JSON {
			if err := json.NewEncoder(terminal.out).Encode(listed); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%v\t%s\t%d\n", listed.Name, listed.Title, listed.AsOf, listed.VerifiedLive, strings.Join(listed.Calls, " "), len(listed.Attributes))
	}
	return table.Flush()
}

// providersCheckCommand checks definitions.
type providersCheckCommand struct {
	definitionsFlag
	Definitions []string `arg:"" optional:"" name:"definition" help:"Names or files of definitions; all by default."`
	JSON        bool     `name:"json" help:"Print the findings as JSON lines."`
}

// checkedDefinition is what --json prints of a definition.
type checkedDefinition struct {
	Name     string    `json:"name"`
	OK       bool      `json:"ok"`
	Problems []finding `json:"problems"`
}

// Run checks them all and reports every problem.
func (c *providersCheckCommand) Run(terminal terminal) error {
	library := c.library()
	names := c.Definitions
	if len(names) == 0 {
		var err error
		if names, err = library.Names(); err != nil {
			return err
		}
	}
	failed := 0
	for _, name := range names {
		err := providers.Check(library, name)
		if err != nil {
			failed++
		}
		switch {
		case c.JSON:
			if err := json.NewEncoder(terminal.out).Encode(checkedDefinition{Name: name, OK: err == nil, Problems: definitionFindings(err)}); err != nil {
				return err
			}
		case err != nil:
			fmt.Fprintln(terminal.err, err)
		default:
			fmt.Fprintf(terminal.out, "%s: ok\n", name)
		}
	}
	switch {
	case failed > 0 && c.JSON:
		return errSomeFailed
	case failed > 0:
		return fmt.Errorf("%d of %d definitions have problems", failed, len(names))
	}
	return nil
}

// definitionFindings parts the error of a check.
func definitionFindings(err error) []finding {
	found := []finding{}
	var problems engine.Problems
	switch {
	case errors.As(err, &problems):
		for _, problem := range problems {
			found = append(found, finding{File: problem.File, Line: problem.Line, Text: problem.Text})
		}
	case err != nil:
		found = append(found, finding{Text: err.Error()})
	}
	return found
}

// providersReplayCommand replays recorded exchanges.
type providersReplayCommand struct {
	definitionsFlag
	Files []string `arg:"" name:"file" type:"existingfile" help:"Files of recorded exchanges."`
}

// mostExchanges is the longest file of recorded exchanges, in bytes.
const mostExchanges = 64 << 20

// Run replays them. What a case expects and does not get is told beside the
// results.
func (c *providersReplayCommand) Run(terminal terminal) error {
	library := c.library()
	failed := 0
	for _, name := range c.Files {
		data, err := readFile(name, mostExchanges)
		if err != nil {
			return err
		}
		cases, err := providers.ReadCases(data)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		results := providers.Replay(library, cases)
		if err := providers.WriteResults(terminal.out, results); err != nil {
			return err
		}
		for i, result := range results {
			differences := result.Differences(cases[i].Expect)
			for _, difference := range differences {
				fmt.Fprintf(terminal.err, "%s: %s: %s\n", name, result.Name, difference)
			}
			if len(differences) > 0 {
				failed++
			}
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d cases came out differently than expected", failed)
	}
	return nil
}
