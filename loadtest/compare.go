package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/report"
)

// compareCommand sets two reports side by side.
type compareCommand struct {
	Before string `arg:"" type:"existingfile" help:"A report in JSON."`
	After  string `arg:"" type:"existingfile" help:"Another one."`
}

// Run prints them.
func (c *compareCommand) Run() error {
	before, err := readReport(c.Before)
	if err != nil {
		return err
	}
	after, err := readReport(c.After)
	if err != nil {
		return err
	}
	report.Compare(os.Stdout, before, after)
	return nil
}

// renderCommand makes a page of a kept report.
type renderCommand struct {
	Report string `arg:"" type:"existingfile" help:"A report in JSON."`
}

// Run writes the page to the standard output.
func (c *renderCommand) Run() error {
	read, err := readReport(c.Report)
	if err != nil {
		return err
	}
	return report.WriteHTML(os.Stdout, read)
}

func readReport(name string) (*judge.Report, error) {
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	read, err := report.ReadJSON(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read, nil
}
