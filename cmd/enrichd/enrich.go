package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/schollz/progressbar/v3"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/intake"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// enrichCommand enriches with a running service.
type enrichCommand struct {
	serviceFlags
	Addresses []string      `arg:"" optional:"" name:"email" help:"Single addresses, answered as JSON lines."`
	File      string        `short:"f" help:"A file of leads, CSV with a heading row or JSON lines; - for standard input. A service with a store takes it in whole and works it off: the same file again is the same work." placeholder:"FILE"`
	Column    string        `help:"The heading of the column with the addresses, if it is not a usual one."`
	Out       string        `short:"o" default:"-" help:"Where the rows with their results go; standard output by default. Of a file that an earlier run wrote, only leads that have no answer yet are asked about." placeholder:"FILE"`
	Direct    bool          `help:"Ask about each lead of the file and wait, also a service with a store."`
	Parallel  atOnce        `default:"16" help:"How many leads are asked about at once."`
	Patience  time.Duration `default:"10m" help:"How long one lead may wait for a throttled vendor, or to be worked off."`
	question
}

// Run enriches the file or the addresses.
func (c *enrichCommand) Run(ctx context.Context, terminal terminal) error {
	if (c.File == "") == (len(c.Addresses) == 0) {
		return errors.New("name addresses, or a file with --file")
	}
	client, err := c.dial()
	if err != nil {
		return err
	}
	defer client.close()
	if c.File == "" {
		return c.enrichAddresses(ctx, terminal, c.asker(client))
	}
	return c.enrichFile(ctx, terminal, c.asker(client), func(ctx context.Context, file io.ReadSeeker) (*handedIn, error) {
		return client.handIn(ctx, file, c.importOptions(), c.Patience)
	})
}

// asker asks about leads while it waits.
func (c *enrichCommand) asker(client *client) asker {
	return func(ctx context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
		return client.enrich(ctx, lead.email, c.question, c.Patience)
	}
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

// handsIn tells whether a file is given to the service in whole.
func (c *enrichCommand) handsIn() bool { return !c.Direct && c.Budget == 0 }

// openFile opens the file of leads. To be handed in it is read twice, so one that
// is no file on a disk is put aside.
func (c *enrichCommand) openFile(stdin io.Reader) (io.ReadCloser, error) {
	if c.File == "-" {
		if !c.handsIn() {
			return io.NopCloser(stdin), nil
		}
		return putAside(stdin)
	}
	file, err := os.Open(c.File)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || info.Mode().IsRegular() || info.IsDir() || !c.handsIn() { // reading a folder says what it is
		return file, nil
	}
	defer file.Close()
	return putAside(file)
}

// mostAside is the longest input that is put aside: some have no end.
const mostAside = 1 << 30

func putAside(in io.Reader) (io.ReadCloser, error) {
	put, err := intake.NewSpool()
	if err != nil {
		return nil, err
	}
	written, err := io.Copy(put, io.LimitReader(in, mostAside+1))
	if err == nil && written > mostAside {
		err = fmt.Errorf("the input is longer than %d bytes: ask about its leads with --direct", mostAside)
	}
	if err == nil {
		put, err = put.Rewound()
	}
	if err != nil {
		return nil, errors.Join(err, put.Close())
	}
	return put, nil
}

// enrichFile hands the file in and waits for its leads, or asks about each where
// the service has no store. The file and its results are looked at first.
func (c *enrichCommand) enrichFile(ctx context.Context, terminal terminal, ask asker, handIn func(context.Context, io.ReadSeeker) (*handedIn, error)) (err error) {
	file, err := c.openFile(terminal.in)
	if err != nil {
		return err
	}
	defer file.Close()
	leads, err := openLeads(file, c.Column)
	if err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	out, err := openResults(c.Out, terminal.out, leads.header)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close(err)) }()
	next := out.resume(leads)
	if whole, ok := file.(io.ReaderAt); ok && c.handsIn() {
		handed, err := handIn(ctx, io.NewSectionReader(whole, 0, math.MaxInt64))
		if err != nil {
			return err
		}
		if handed != nil {
			fmt.Fprintln(terminal.err, handed)
			next, ask = handed.find(ctx, next), handed.wait
		}
	}
	progress := newProgress(terminal.err, -1)
	var rows, withoutAnswer, again int
	answered := false
	err = enrichAll(ctx, next, ask, c.Parallel, func(r result) error {
		answered = answered || r.err == nil && r.lead.earlier == nil
		if !answered && refusesAll(r.err) {
			return refusedRun(explain(r.err))
		}
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
	fmt.Fprintln(terminal.err)
	if errors.As(err, new(refusedRun)) {
		return err
	}
	fmt.Fprintf(terminal.err, "%d rows, %d failed\n", rows, withoutAnswer)
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
