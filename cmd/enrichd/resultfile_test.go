package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/email"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// bench enriches a file of leads again and again with answers of its own.
type bench struct {
	t       *testing.T
	leads   string
	out     string
	answers map[string]error // by address; nil: found
	asked   []string         // in the last run
}

func newBench(t *testing.T, leads string) *bench {
	return &bench{t: t, leads: leads, out: filepath.Join(t.TempDir(), "out.csv"), answers: map[string]error{}}
}

// run enriches and returns what the command says on the side.
func (b *bench) run() (said string, err error) {
	b.t.Helper()
	b.asked = nil
	command := enrichCommand{File: "-", Out: b.out, Parallel: 1, Direct: true}
	var progress bytes.Buffer
	err = command.enrichFile(b.t.Context(), terminal{in: strings.NewReader(b.leads), err: &progress}, func(_ context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
		address := lead.email
		b.asked = append(b.asked, address)
		title := "=cmd()"
		return &enrichv1.EnrichResponse{Email: address, Outcome: enrichv1.Outcome_OUTCOME_PARTIAL, Person: &enrichv1.Person{Title: &title}}, b.answers[address]
	}, nil)
	return progress.String(), err
}

// rows returns the lead's first cell and outcome of each row of results.
func (b *bench) rows() (rows []string) {
	b.t.Helper()
	text, err := os.ReadFile(b.out)
	if err != nil {
		b.t.Fatal(err)
	}
	all, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		b.t.Fatal(err)
	}
	column := slices.Index(all[0], "enrichd.outcome")
	for _, row := range all[1:] {
		rows = append(rows, row[0]+" "+row[column])
	}
	return rows
}

func (b *bench) expect(what string, asked, rows []string) {
	b.t.Helper()
	if !slices.Equal(b.asked, asked) {
		b.t.Errorf("%s: asked about %q, want %q", what, b.asked, asked)
	}
	if got := b.rows(); !slices.Equal(got, rows) {
		b.t.Errorf("%s: rows = %q, want %q", what, got, rows)
	}
}

const fourLeads = "name,email\nA,a@acme.example\nB,b@acme.example\nC,\"c@acme.example\nD,d@acme.example\n"

// TestARepeatedRunAsksForFailedLeadsAlone has vendors that fail for one lead, an
// address that nobody can read, and a damaged row.
func TestARepeatedRunAsksForFailedLeadsAlone(t *testing.T) {
	b := newBench(t, fourLeads)
	b.answers["a@acme.example"] = unreadableError(email.ClassPlaceholder, "a placeholder")
	b.answers["b@acme.example"] = vendorsFail
	said, err := b.run()
	if !errors.Is(err, errSomeFailed) || !strings.Contains(said, "4 rows, 3 failed") || !strings.Contains(said, "about 1 of them") {
		t.Errorf("first run: %v: %s", err, said)
	}
	b.expect("first run", []string{"a@acme.example", "b@acme.example", "d@acme.example"}, []string{"A failed", "B failed", "C failed", "D partial"})

	said, err = b.run()
	if !errors.Is(err, errSomeFailed) || !strings.Contains(said, "4 rows, 3 failed") {
		t.Errorf("while vendors fail: %v: %s", err, said)
	}
	b.answers["b@acme.example"] = nil
	said, err = b.run()
	if !errors.Is(err, errSomeFailed) || !strings.Contains(said, "4 rows, 2 failed") || strings.Contains(said, "again") {
		t.Errorf("with vendors back: %v: %s", err, said)
	}
	b.expect("with vendors back", []string{"b@acme.example"}, []string{"A failed", "B partial", "C failed", "D partial"})

	said, err = b.run()
	if !errors.Is(err, errSomeFailed) || !strings.Contains(said, "4 rows, 2 failed") {
		t.Errorf("nothing to do: %v: %s", err, said)
	}
	b.expect("nothing to do", nil, []string{"A failed", "B partial", "C failed", "D partial"})
	if text := readText(t, b.out); strings.Contains(text, ",=cmd()") || !strings.Contains(text, "'=cmd()") || strings.Contains(text, "''=") {
		t.Errorf("a formula was written as one, or its mark twice:\n%s", text)
	}
	if _, err := os.Stat(b.out + partSuffix); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part is still there: %v", err)
	}
}

// TestAKilledRunLosesNoRow cuts the part of a run off at every byte, as a kill
// would, beside the results of a run before.
func TestAKilledRunLosesNoRow(t *testing.T) {
	leads := "name,email\nA,a@acme.example\nB,b@acme.example\nC,c@acme.example\n"
	b := newBench(t, leads)
	for _, address := range []string{"b@acme.example", "c@acme.example"} {
		b.answers[address] = vendorsFail
	}
	if _, err := b.run(); !errors.Is(err, errSomeFailed) {
		t.Fatal(err)
	}
	before := readText(t, b.out)
	b.answers["b@acme.example"] = nil
	if _, err := b.run(); !errors.Is(err, errSomeFailed) {
		t.Fatal(err)
	}
	after := readText(t, b.out) // B was found
	rowB := strings.Index(after, "\nB,") + 1
	rowC := strings.Index(after, "\nC,") + 1
	for cut := range len(after) {
		if err := errors.Join(os.WriteFile(b.out, []byte(before), 0o600), os.WriteFile(b.out+partSuffix, []byte(after[:cut]), 0o600)); err != nil {
			t.Fatal(err)
		}
		if _, err := b.run(); !errors.Is(err, errSomeFailed) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		asked := []string{"b@acme.example", "c@acme.example"}
		if cut >= rowC {
			asked = asked[1:]
		}
		if b.expect("cut", asked, []string{"A partial", "B partial", "C failed"}); t.Failed() {
			t.Fatalf("cut at byte %d of %d, row B at %d, C at %d", cut, len(after), rowB, rowC)
		}
	}
}

// TestAStoppedRunGoesOn stops a run in the middle.
func TestAStoppedRunGoesOn(t *testing.T) {
	b := newBench(t, "name,email\nA,a@acme.example\nB,b@acme.example\nC,c@acme.example\n")
	ctx, cancel := context.WithCancel(t.Context())
	command := enrichCommand{File: "-", Out: b.out, Parallel: 1, Direct: true}
	err := command.enrichFile(ctx, terminal{in: strings.NewReader(b.leads), err: new(bytes.Buffer)}, func(_ context.Context, lead lead) (*enrichv1.EnrichResponse, error) {
		if lead.email == "b@acme.example" {
			cancel()
			return nil, ctx.Err()
		}
		return &enrichv1.EnrichResponse{Outcome: enrichv1.Outcome_OUTCOME_COMPLETE}, nil
	}, nil)
	if !errors.Is(err, context.Canceled) || len(b.rows()) != 1 {
		t.Fatalf("the stopped run: %v, rows %q", err, b.rows())
	}
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	b.expect("the next run", []string{"b@acme.example", "c@acme.example"}, []string{"A complete", "B partial", "C partial"})
}

// TestResultsOfOtherLeadsAreLeftAlone checks that nothing is overwritten that is
// not a result of the same leads.
func TestResultsOfOtherLeadsAreLeftAlone(t *testing.T) {
	b := newBench(t, "name,email\nA,a@acme.example\nB,\"b@acme.example \"\"x\"\"\"\n")
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	whole := readText(t, b.out)
	for name, test := range map[string]struct{ leads, out, says string }{
		"other headings":   {"name,mail\nA,a@acme.example\n", whole, "does not hold results"},
		"another lead":     {"name,email\nA,a@acme.example\nC,c@acme.example\n", whole, "line 3 of the leads is not the lead of row 2"},
		"another cell":     {"name,email\nZ,a@acme.example\nB,b@acme.example\n", whole, "line 2 of the leads is not the lead of row 1"},
		"fewer leads":      {"name,email\nA,a@acme.example\n", whole, "more rows"},
		"one short line":   {b.leads, "my notes", "does not hold results"},
		"the leads itself": {b.leads, b.leads, "does not hold results"},
		"a broken row":     {b.leads, strings.Replace(whole, "A,a@acme.example", "A,\"a\"@acme.example", 1), "row 1 of"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := os.WriteFile(b.out, []byte(test.out), 0o600); err != nil {
				t.Fatal(err)
			}
			other := &bench{t: t, leads: test.leads, out: b.out}
			if _, err := other.run(); err == nil || !strings.Contains(err.Error(), test.says) {
				t.Errorf("error = %v, want %q", err, test.says)
			}
			if text := readText(t, b.out); text != test.out {
				t.Errorf("the file was changed to:\n%s", text)
			}
			_ = os.Remove(b.out + partSuffix)
		})
	}
}

func TestWhereResultsCanGo(t *testing.T) {
	b := newBench(t, "name,email\nA,a@acme.example\n")
	folder := t.TempDir()
	b.out = folder
	if _, err := b.run(); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("a folder: %v", err)
	}
	b.out = filepath.Join(folder, "missing", "out.csv")
	if _, err := b.run(); err == nil {
		t.Error("a folder that does not exist: no error")
	}
	b.out = os.DevNull
	if _, err := b.run(); err != nil {
		t.Errorf("a device: %v", err)
	}
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Fatalf("the device was replaced: %v, %v", info, err)
	}
	target, link := filepath.Join(folder, "target.csv"), filepath.Join(folder, "link.csv")
	if err := errors.Join(os.WriteFile(target, nil, 0o640), os.Symlink(target, link)); err != nil {
		t.Fatal(err)
	}
	b.out = link
	if _, err := b.run(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
	if info, err := os.Stat(target); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o640 {
		t.Errorf("the link's target: %v, %v", info, err)
	}
}
