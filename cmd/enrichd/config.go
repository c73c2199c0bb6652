package main

import (
	"fmt"

	"github.com/enrichd/enrichd/config"
)

// configCommand works with the configuration file.
type configCommand struct {
	Check configCheckCommand `cmd:"" help:"Check a configuration file and report every problem."`
}

// configCheckCommand checks a file.
type configCheckCommand struct {
	File string `arg:"" type:"existingfile" help:"The configuration file."`
}

// Run checks it.
func (c *configCheckCommand) Run(terminal terminal) error {
	loaded, err := config.Load(c.File)
	if err != nil {
		return err
	}
	for _, warning := range loaded.Warnings() {
		fmt.Fprintf(terminal.err, "%s: warning: %s\n", c.File, warning)
	}
	fmt.Fprintf(terminal.out, "%s: ok\n", c.File)
	return nil
}
