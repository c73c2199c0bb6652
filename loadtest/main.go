// Command loadtest asks a fleet of real processes the way its users do, lets
// things go wrong meanwhile, and judges what came out by the vendors' own
// ledgers.
//
// All it starts runs on this machine and is ended with it. It asks other
// machines only when a scenario names them and the command line repeats it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"

	"github.com/enrichd/enrichd/loadtest/fleet"
)

// command is the command line.
type command struct {
	Run     runCommand     `cmd:"" default:"withargs" help:"Run scenarios, and say whether they are good."`
	List    listCommand    `cmd:"" help:"List the scenarios that come with the program."`
	Compare compareCommand `cmd:"" help:"Compare two reports."`
	Render  renderCommand  `cmd:"" help:"Make the page of a report anew."`
	Publish publishCommand `cmd:"" help:"Write kept results into the front page, and draw its chart."`
}

// errFailed says that a run was not good; the report says why.
var errFailed = errors.New("not all of it is good")

func main() {
	ctx, stop := fleet.Interrupted(context.Background())
	defer stop()
	parsed := kong.Parse(&command{}, kong.Name("loadtest"),
		kong.Description("Load tests of a fleet on this machine, judged by the vendors' ledgers.\n\n"+
			"Exit codes: 0 good; 1 not good; 2 there is no result, the run was interrupted, or the command line is wrong."),
		kong.UsageOnError(), kong.Exit(exit), kong.BindTo(ctx, (*context.Context)(nil)))
	switch err := parsed.Run(); {
	case errors.Is(err, errFailed):
		stop()
		os.Exit(1)
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "loadtest: interrupted")
		if !errors.Is(err, context.Canceled) { // such as a report that could not be kept
			fmt.Fprintln(os.Stderr, "loadtest:", err)
		}
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		stop()
		os.Exit(2)
	}
}

// exit ends the program after help or a wrong command line, for which kong has a
// code of its own.
func exit(code int) { os.Exit(min(code, 2)) }
