package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

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
	sayWhatIsCompared(os.Stdout, before, after)
	report.Compare(os.Stdout, before, after)
	return nil
}

// sayWhatIsCompared tells two runs apart, and says what else than the service
// may have changed the figures.
func sayWhatIsCompared(w io.Writer, before, after *judge.Report) {
	for _, one := range []struct {
		what string
		*judge.Report
	}{{"before", before}, {"after", after}} {
		fmt.Fprintf(w, "%-6s  %s, %s, commit %s, %.0f s, %s\n", one.what, one.Scenario,
			one.Began.UTC().Format("2006-01-02 15:04:05 UTC"), one.Commit, one.Seconds, one.Machine)
		if told := report.Interrupted(one.Report); told != "" {
			fmt.Fprintf(w, "%-6s  %s: its figures are of that time\n", "", told)
		}
	}
	var differ []string
	if before.Scenario != after.Scenario {
		differ = append(differ, "scenarios")
	}
	if math.Abs(before.Seconds-after.Seconds) > shareOfLength*max(before.Seconds, after.Seconds) {
		differ = append(differ, "lengths")
	}
	if before.Replicas != after.Replicas {
		differ = append(differ, "numbers of replicas")
	}
	if machine(before) != machine(after) {
		differ = append(differ, "machines")
	}
	if len(differ) > 0 {
		fmt.Fprintf(w, "These are of different %s: figures differ for that alone.\n", strings.Join(differ, ", "))
	}
	fmt.Fprintln(w)
}

// shareOfLength is how much two runs of one length may differ: a run ends when
// its last lead was asked for.
const shareOfLength = 0.05

// machine without the load that it had.
func machine(r *judge.Report) string {
	name, _, _ := strings.Cut(r.Machine, ", load ")
	return name
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
	text, err := os.ReadFile(filepath.Clean(name))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		return nil, fmt.Errorf("%s is a page: give the report in JSON that is kept beside it", name)
	}
	if !json.Valid(text) {
		return nil, fmt.Errorf("%s is no report of a load test: it is not JSON, or not JSON alone", name)
	}
	read, err := report.ReadJSON(bytes.NewReader(text))
	if err == nil && (read.Began.IsZero() || read.Figures == nil) {
		err = errors.New("this is no report of a load test")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return read, nil
}
