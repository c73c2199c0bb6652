package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
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
	Out       string        `short:"o" default:"-" help:"Where the rows with their results go; standard output by default. Of a file that an earlier run wrote, only leads that have no answer yet are asked about." placeholder:"FILE"`
	Server    string        `default:"127.0.0.1:8471" help:"The service's gRPC address."`
	Parallel  atOnce        `default:"16" help:"How many leads are under way at once."`
	Patience  time.Duration `default:"10m" help:"How long one lead may wait for a throttled vendor."`
	question
}

// Run enriches the file or the addresses.
func (c *enrichCommand) Run(ctx context.Context, terminal terminal) error {
	if (c.File == "") == (len(c.Addresses) == 0) {
		return errors.New("name addresses, or a file with --file")
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
	out, err := openResults(c.Out, terminal.out, leads.header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	progress := newProgress(terminal.err, -1)
	var rows, withoutAnswer, again int
	err = enrichAll(ctx, out.resume(leads), ask, c.Parallel, func(r result) error {
		cells := r.lead.earlier
		if cells == nil {
			cells = append(slices.Clone(r.lead.cells), resultCells(r)...)
		}
		failed, mayHelp := failed(cells[len(leads.header):])
		rows++
		count(&withoutAnswer, failed)
		count(&again, mayHelp)
		_ = progress.Add(1)
		return out.write(cells)
	})
	_ = progress.Finish()
	fmt.Fprintf(terminal.err, "\n%d rows, %d failed\n", rows, withoutAnswer)
	if again > 0 && c.Out != "-" {
		fmt.Fprintf(terminal.err, "Run the command again to ask about %d of them once more.\n", again)
	}
	return errors.Join(err, someFailed(withoutAnswer))
}

func count(counter *int, when bool) {
	if when {
		*counter++
	}
}

func someFailed(failed int) error {
	if failed > 0 {
		return errSomeFailed
	}
	return nil
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
		progressbar.OptionSetSpinnerChangeInterval(0), // the spinner's goroutine reads unlocked
	)
}
