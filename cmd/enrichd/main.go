// Command enrichd is the enrichment service and the tools around it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// commands is the command line.
type commands struct {
	Serve       serveCommand       `cmd:"" help:"Run the service."`
	Demo        demoCommand        `cmd:"" help:"Run the service with fake vendors and enrich a bundled list of leads."`
	Enrich      enrichCommand      `cmd:"" help:"Enrich a CSV file or single addresses with a running service."`
	Normalize   normalizeCommand   `cmd:"" help:"Show what the normalizer makes of cells."`
	Providers   providersCommand   `cmd:"" help:"List, check and replay vendor definitions."`
	Config      configCommand      `cmd:"" help:"Check and print the configuration file."`
	Keys        keysCommand        `cmd:"" help:"Make and hash API keys."`
	Audit       auditCommand       `cmd:"" help:"Make the tags of the audit log, and check its proofs of erasures."`
	Jobs        jobsCommand        `cmd:"" help:"List, show, reset, cancel, pause and resume accepted leads of a running service."`
	Deadletters deadlettersCommand `cmd:"" help:"List, replay, compare and resolve failed work of a running service."`
	Store       storeCommand       `cmd:"" help:"Copy the store of accepted work."`
	Fakevendor  fakevendorCommand  `cmd:"" help:"Serve fake vendors that can be made to misbehave."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
}

// terminal is where a command reads and prints: data on out, everything about it
// on err.
type terminal struct {
	in  io.Reader
	out io.Writer
	err io.Writer
}

// errSomeFailed ends a command that did its work but could not do all of it.
var errSomeFailed = errors.New("some rows failed")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	os.Exit(run(ctx, os.Args[1:], terminal{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// output remembers that data could not be written, so that no command has to
// look after every line.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.Writer.Write(p)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

// run carries out one command line and returns the exit code: 0 done, 1 failed
// or done in part, 2 not understood.
func run(ctx context.Context, args []string, terminal terminal) int {
	exit, out := -1, &output{Writer: terminal.out}
	terminal.out = out
	parser, err := kong.New(&commands{},
		kong.Name("enrichd"),
		kong.Description("One API in front of every data vendor: never over a quota, never paid twice, never loses a lead.\n\nExit codes: 0 done; 1 failed, or done in part; 2 the command line is wrong."),
		kong.Writers(terminal.out, terminal.err),
		kong.Exit(func(code int) { exit = code }),
		kong.ShortUsageOnError(),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(terminal),
	)
	if err != nil {
		fmt.Fprintln(terminal.err, "enrichd:", err)
		return 2
	}
	parsed, err := parser.Parse(args)
	if exit >= 0 { // --help
		return exit
	}
	if err != nil {
		parser.FatalIfErrorf(err)
		return 2
	}
	switch err := parsed.Run(); {
	case err == nil && out.err == nil:
		return 0
	case errors.Is(err, errSomeFailed):
		return 1
	case err == nil:
		fmt.Fprintln(terminal.err, "enrichd: the output could not be written:", out.err)
		return 1
	default:
		fmt.Fprintln(terminal.err, "enrichd:", err)
		return 1
	}
}
