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
	if _, err := config.Load(c.File); err != nil {
		return err
	}
	fmt.Fprintf(terminal.out, "%s: ok\n", c.File)
	return nil
}
