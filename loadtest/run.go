package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/report"
	"github.com/enrichd/enrichd/loadtest/results"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/scenarios"
	"github.com/enrichd/enrichd/loadtest/trial"
)

// runCommand runs scenarios one after the other.
type runCommand struct {
	Scenarios []string       `arg:"" optional:"" help:"Names of scenarios that come with the program, or files. Default: steady." placeholder:"SCENARIO"`
	All       bool           `help:"Run all scenarios that come with the program."`
	Out       string         `default:"loadtest-reports" help:"Folder for reports."`
	Length    *time.Duration `help:"Another length; events keep their times." placeholder:"DURATION"`
	Binary    string         `type:"existingfile" help:"An enrichd to test. Default: one built from these sources." placeholder:"FILE"`
	Markdown  string         `help:"Also keep the verdicts in this page, and as JSON beside it; others stay." placeholder:"FILE.md"`
	Keep      string         `help:"Keep the replicas' configurations and logs in this folder." placeholder:"FOLDER"`
	Really    bool           `help:"Ask the service that the scenario's target names. Without it only what would be done is said."`
	Public    []string       `help:"Hosts outside this machine and private networks that may be asked, by name." placeholder:"HOST"`
}

// Run runs the scenarios.
func (c *runCommand) Run(ctx context.Context) error {
	switch {
	case c.All:
		c.Scenarios = append(scenarios.Names(), c.Scenarios...)
	case len(c.Scenarios) == 0:
		c.Scenarios = []string{"steady"}
	}
	all, err := c.read()
	if err != nil || len(all) == 0 {
		return err
	}
	if err := writable(c.Out); err != nil {
		return err
	}
	if c.Markdown != "" {
		if err := writable(filepath.Dir(c.Markdown)); err != nil {
			return err
		}
		if _, err := results.Read(c.Markdown); err != nil {
			return err
		}
	}
	binary, remove, err := c.build(ctx, all)
	if err != nil {
		return err
	}
	defer remove()
	passed := true
	for _, one := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		good, err := c.one(ctx, one, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", one.Name, err)
		}
		passed = passed && good
	}
	if !passed {
		return errFailed
	}
	return nil
}

// read returns the scenarios that are to be run, after it found all wrong with
// any of them that can be found before. Of those with a target it says what
// would be done, unless it is really to be.
func (c *runCommand) read() ([]*scenario.Scenario, error) {
	var all []*scenario.Scenario
	for _, name := range c.Scenarios {
		read, err := readScenario(name)
		if err != nil {
			return nil, err
		}
		if c.Length != nil {
			if read, err = read.WithLength(*c.Length); err != nil {
				return nil, fmt.Errorf("--length: %s:\n%w", name, err)
			}
		}
		if err := errors.Join(checkSLO(read), openFiles(read)); err != nil {
			return nil, fmt.Errorf("%s:\n%w", name, err)
		}
		if read.Target != nil {
			if read.Target, err = guard(read.Target, c.Public); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
		}
		all = append(all, read)
	}
	var run []*scenario.Scenario
	for _, one := range all {
		if one.Target != nil && !c.Really {
			sayWhatWouldBeDone(os.Stdout, one)
			continue
		}
		run = append(run, one)
	}
	return run, nil
}

// build compiles enrichd once for all scenarios that start it.
func (c *runCommand) build(ctx context.Context, all []*scenario.Scenario) (binary string, remove func(), err error) {
	needed := false
	for _, one := range all {
		needed = needed || one.Target == nil
	}
	if c.Binary != "" || !needed {
		return c.Binary, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "loadtest")
	if err != nil {
		return "", nil, err
	}
	fmt.Fprintln(os.Stderr, "building enrichd …")
	binary, err = fleet.Build(ctx, dir)
	if err != nil {
		os.RemoveAll(dir)
		return "", nil, err
	}
	return binary, func() { os.RemoveAll(dir) }, nil
}

// one runs a scenario and keeps its report. An interrupted run has one, but is an
// error, and no verdict that is kept beside others.
func (c *runCommand) one(ctx context.Context, s *scenario.Scenario, binary string) (bool, error) {
	sayWhatBegins(os.Stderr, s)
	outcome, err := trial.Run(ctx, s, trial.Options{Binary: binary, Keep: c.Keep, Progress: stderr()})
	if err != nil {
		return false, err
	}
	here := results.Here()
	switch {
	case s.Target != nil:
		here.Commit = results.Unknown
	case c.Binary != "":
		here.Commit = results.BuiltFrom(c.Binary)
	}
	outcome.Machine, outcome.Commit = here.Machine+", load "+here.Load, here.Commit
	report.Text(os.Stdout, outcome) // before anything that can fail
	page, err := keep(outcome, c.Out)
	if err != nil {
		return false, fmt.Errorf("its report could not be kept: %w", err)
	}
	fmt.Printf("report: %s\n\n", page)
	if outcome.Interrupted {
		return false, ctx.Err()
	}
	if c.Markdown == "" {
		return outcome.Passed, nil
	}
	kept, err := results.Read(c.Markdown)
	if err != nil {
		return false, err
	}
	kept.PutScenario(report.Scenario(outcome, here))
	return outcome.Passed, kept.Write(c.Markdown)
}

// readScenario reads a scenario by name or from a file.
func readScenario(name string) (*scenario.Scenario, error) {
	if text, err := scenarios.Files.ReadFile(name + ".yaml"); err == nil {
		return scenario.Parse(name+".yaml", bytes.NewReader(text))
	}
	file, err := os.Open(filepath.Clean(name))
	if err != nil {
		return nil, fmt.Errorf("%s is neither a file nor one of: %s", name, strings.Join(scenarios.Names(), ", "))
	}
	defer file.Close()
	return scenario.Parse(name, file)
}

// listCommand lists scenarios.
type listCommand struct{}

// Run prints them.
func (c *listCommand) Run() error {
	for _, name := range scenarios.Names() {
		read, err := readScenario(name)
		if err != nil {
			return err
		}
		fmt.Printf("%-24s %5s  %s\n", name, read.Length, read.About)
	}
	return nil
}
