package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/enrichd/enrichd/config"
)

// configCommand works with the configuration file.
type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Check a configuration file and report every problem."`
	Print configPrintCommand `cmd:"" help:"Print the configuration with its defaults; secrets are hidden."`
}

// configCheckCommand checks a file.
type configCheckCommand struct {
	File string `arg:"" type:"existingfile" help:"The configuration file."`
	JSON bool   `name:"json" help:"Print the findings as JSON."`
}

// finding is one problem as --json prints it.
type finding struct {
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	Path string `json:"path,omitempty"`
	Text string `json:"text"`
}

// Run checks it.
func (c *configCheckCommand) Run(terminal terminal) error {
	loaded, err := config.Load(c.File)
	warnings := []string{}
	if err == nil {
		warnings = append(warnings, loaded.Warnings()...)
	}
	if c.JSON {
		return c.printJSON(terminal, findings(c.File, err), warnings)
	}
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		fmt.Fprintf(terminal.err, "%s: warning: %s\n", c.File, warning)
	}
	fmt.Fprintf(terminal.out, "%s: ok\n", c.File)
	return nil
}

func (c *configCheckCommand) printJSON(terminal terminal, found []finding, warnings []string) error {
	err := json.NewEncoder(terminal.out).Encode(map[string]any{"file": c.File, "ok": len(found) == 0, "problems": found, "warnings": warnings})
	if err == nil && len(found) > 0 {
		return errSomeFailed
	}
	return err
}

// findings parts the error of a load.
func findings(file string, err error) []finding {
	found := []finding{}
	if err == nil {
		return found
	}
	all := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		all = joined.Unwrap()
	}
	for _, one := range all {
		var problem config.Problem
		if errors.As(one, &problem) {
			found = append(found, finding(problem))
		} else {
			found = append(found, finding{File: file, Text: one.Error()})
		}
	}
	return found
}

// configPrintCommand prints what a file means.
type configPrintCommand struct {
	File string `arg:"" type:"existingfile" help:"The configuration file."`
	JSON bool   `name:"json" help:"Print JSON instead of YAML."`
}

// Run prints it.
func (c *configPrintCommand) Run(terminal terminal) error {
	loaded, err := config.Load(c.File)
	if err != nil {
		return err
	}
	print := loaded.WithDefaults().YAML
	if c.JSON {
		print = loaded.WithDefaults().JSON
	}
	text, err := print()
	if err != nil {
		return err
	}
	if c.JSON {
		text = append(text, '\n')
	}
	_, err = terminal.out.Write(text)
	return err
}
