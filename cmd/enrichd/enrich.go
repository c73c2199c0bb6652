package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"google.golang.org/protobuf/encoding/protojson"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// enrichCommand enriches with a running service.
type enrichCommand struct {
	Addresses []string      `arg:"" optional:"" name:"email" help:"Single addresses, answered as JSON lines."`
	File      string        `short:"f" help:"A CSV file of leads with a heading row; - for standard input." placeholder:"FILE"`
	Column    string        `help:"The heading of the column with the addresses, if it is not a usual one."`
	Out       string        `short:"o" default:"-" help:"Where the rows with their results go. If an earlier run was interrupted, it is continued." placeholder:"FILE"`
	Server    string        `default:"127.0.0.1:8471" help:"The service's gRPC address."`
	Parallel  int           `default:"16" help:"How many leads are under way at once."`
	Patience  time.Duration `default:"10m" help:"How long one lead may wait for a throttled vendor."`
	question
}

// Run enriches the file or the addresses.
func (c *enrichCommand) Run(ctx context.Context, terminal terminal) error {
	if (c.File == "") == (len(c.Addresses) == 0) {
		return errors.New("name addresses, or a file with --file")
	}
	if c.Parallel < 1 {
		return errors.New("--parallel must be at least 1")
	}
	client, err := dial(c.Server)
	if err != nil {
		return err
	}
	defer client.close()
	ask := func(ctx context.Context, email string) (*enrichv1.EnrichResponse, error) {
		return client.enrich(ctx, email, c.question, c.Patience)
	}
	if c.File == "" {
		return c.enrichAddresses(ctx, terminal, ask)
	}
	return c.enrichFile(ctx, terminal, ask)
}

func (c *enrichCommand) enrichAddresses(ctx context.Context, terminal terminal, ask asker) error {
	left, failed := c.Addresses, 0
	next := func() (lead, error) {
		if len(left) == 0 {
			return lead{}, io.EOF
		}
		first := left[0]
		left = left[1:]
		return lead{email: first}, nil
	}
	err := enrichAll(ctx, next, ask, c.Parallel, func(r result) error {
		if r.err != nil {
			failed++
			fmt.Fprintln(terminal.err, "enrichd:", explain(r.err))
			return nil
		}
		text, err := protojson.Marshal(r.response)
		if err == nil {
			_, err = fmt.Fprintf(terminal.out, "%s\n", text)
		}
		return err
	})
	return errors.Join(err, someFailed(failed))
}

func (c *enrichCommand) enrichFile(ctx context.Context, terminal terminal, ask asker) (err error) {
	in := terminal.in
	if c.File != "-" {
		file, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer file.Close()
		in = file
	}
	leads, err := openLeads(in, c.Column)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	out, done, err := openResults(c.Out, terminal.out, leads.header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	for range done {
		if _, err := leads.next(); err != nil {
			return fmt.Errorf("%s has more rows than %s: name another file with --out", c.Out, c.File)
		}
	}
	progress := newProgress(terminal.err, -1)
	_ = progress.Add(done)
	failed := 0
	err = enrichAll(ctx, leads.next, ask, c.Parallel, func(r result) error {
		if r.err != nil {
			failed++
		}
		_ = progress.Add(1)
		return out.write(append(padded(r.lead.cells, len(leads.header)), resultCells(r)...))
	})
	_ = progress.Finish()
	fmt.Fprintf(terminal.err, "\n%d rows, %d failed\n", leads.row, failed)
	return errors.Join(err, someFailed(failed))
}

// asker asks the service about one address.
type asker = func(context.Context, string) (*enrichv1.EnrichResponse, error)

func someFailed(failed int) error {
	if failed > 0 {
		return errSomeFailed
	}
	return nil
}

// padded gives a row as many cells as the header has, so that the results stand
// in their columns; what a row has beyond them is cut.
func padded(cells []string, width int) []string {
	row := make([]string, width, width+len(resultColumns()))
	copy(row, cells)
	return row
}

// newProgress is a bar for a known number of leads, or a counter for -1.
func newProgress(to io.Writer, leads int) *progressbar.ProgressBar {
	return progressbar.NewOptions(leads,
		progressbar.OptionSetWriter(to),
		progressbar.OptionSetDescription("enriching"),
		progressbar.OptionShowCount(),
		progressbar.OptionShowIts(),
		progressbar.OptionSetItsString("leads"),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetWidth(30),
	)
}
