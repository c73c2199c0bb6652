// Command bench measures what the service costs beside floors that it builds and
// runs in the same run, and how close it comes to vendors' limits beside what is
// usually done. Everything is a real process on this machine; all load goes to
// loopback. It prints "measured, must, aim" and fails on no figure: it is a
// benchmark, not a test.
package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/enrichd/enrichd/loadtest/bench/floor"
	"github.com/enrichd/enrichd/loadtest/fleet"
)

// command is the command line.
type command struct {
	Run   runCommand   `cmd:"" default:"withargs" help:"Measure, and print a table."`
	Floor floorCommand `cmd:"" hidden:""`
}

// runCommand measures rows of the table.
type runCommand struct {
	Rows     []string      `help:"Rows to measure, by name or beginning (C1,C7,Q). Default: all but those that take minutes." placeholder:"ROW,…"`
	All      bool          `help:"Measure the rows that take minutes too."`
	Rounds   int           `default:"7" help:"Rounds of each comparison; the least of them counts."`
	Length   time.Duration `default:"1500ms" help:"Length of one round."`
	Drain    time.Duration `default:"2m" help:"Length of a run against a vendor's limits, and at most that of a usual policy's, which has 30s; a multiple of 10s."`
	Leads    int           `default:"100000" help:"Distinct leads that fill the memory tier."`
	Server   int           `default:"0" help:"Core of what is measured."`
	Client   int           `default:"1" help:"Core of everything else."`
	Binary   string        `type:"existingfile" help:"An enrichd to measure. Default: one built from these sources." placeholder:"FILE"`
	Markdown string        `help:"Also keep what is measured in this page, and as JSON beside it; other rows stay." placeholder:"FILE.md"`
	Profile  string        `help:"Join CPU profiles of what is measured in this file, for builds that are guided by it." placeholder:"FILE"`
	Config   string        `type:"existingfile" help:"Fields of the configuration (YAML) laid over those of the measured service." placeholder:"FILE"`
}

func (c *runCommand) Validate() error {
	switch {
	case c.Rounds < 1 || c.Rounds > 100:
		return fmt.Errorf("--rounds is between 1 and 100")
	case c.Length < 100*time.Millisecond || c.Length > time.Minute:
		return fmt.Errorf("--length is between 100ms and 1m")
	case c.Drain < 10*time.Second || c.Drain > 5*time.Minute || c.Drain%(10*time.Second) != 0:
		return fmt.Errorf("--drain is a multiple of 10s up to 5m")
	case c.Leads < 1000 || c.Leads > 10_000_000:
		return fmt.Errorf("--leads is between 1000 and 10000000")
	}
	for _, wanted := range c.Rows {
		if !slices.ContainsFunc(rows, func(r row) bool { return strings.HasPrefix(r.name, wanted) }) {
			return fmt.Errorf("no row is called %q", wanted)
		}
	}
	return nil
}

// Run measures.
func (c *runCommand) Run(ctx context.Context) error { return measureAll(ctx, *c) }

// floorCommand runs one floor in this process.
type floorCommand struct {
	Kind    string `arg:"" enum:"grpc,rest,vendor,exchange"`
	Size    int    `default:"1750"`
	Vendor  string
	Redis   string
	Workers int   `default:"16"`
	Calls   int64 `default:"1000"`
}

// Run serves or calls.
func (c *floorCommand) Run(ctx context.Context) error {
	switch c.Kind {
	case "grpc":
		return floor.ServeGRPC(ctx, c.Size)
	case "rest":
		return floor.ServeREST(ctx, c.Size)
	case "exchange":
		return floor.ServeExchange(ctx, c.Redis, c.Vendor)
	default:
		return floor.CallVendor(ctx, c.Vendor, c.Workers, c.Calls)
	}
}

func main() {
	ctx, stop := fleet.Interrupted(context.Background())
	defer stop()
	parsed := kong.Parse(&command{}, kong.Name("bench"),
		kong.Description("Measure the service beside floors and naive policies, in one run on this machine."),
		kong.UsageOnError(), kong.Exit(exit), kong.BindTo(ctx, (*context.Context)(nil)))
	err := parsed.Run()
	switch {
	case err == nil:
		return
	case ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "bench: interrupted")
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	stop()
	os.Exit(2)
}

// exit ends the program after help or a wrong command line, for which kong has a
// code of its own.
func exit(code int) { os.Exit(min(code, 2)) }
