package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func readAll(t *testing.T, file *leadFile) []string {
	t.Helper()
	var emails []string
	for {
		lead, err := file.next()
		if errors.Is(err, io.EOF) {
			return emails
		}
		if err != nil {
			t.Fatal(err)
		}
		emails = append(emails, lead.email)
	}
}

func TestLeadsOfManyDialects(t *testing.T) {
	for _, test := range []struct {
		name, text, column, want string
	}{
		{"commas", "name,email\nA,a@acme.example\nB,b@acme.example\n", "", "a@acme.example|b@acme.example"},
		{"semicolons and a byte order mark", "\ufeffE-Mail;Name\r\na@acme.example;A\r\n", "", "a@acme.example"},
		{"tabs", "id\tWork Email\n1\ta@acme.example\n", "", "a@acme.example"},
		{"a named column", "email,second\nx,a@acme.example\n", "Second", "a@acme.example"},
		{"short rows", "name,email\nA\nB,b@acme.example\n", "", "|b@acme.example"},
		{"stray quotes", "name,email\nA \"B\" C,a@acme.example\n", "", "a@acme.example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := openLeads(strings.NewReader(test.text), test.column)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(readAll(t, file), "|"); got != test.want {
				t.Errorf("addresses = %q, want %q", got, test.want)
			}
		})
	}
	for name, text := range map[string]string{"empty": "", "no such column": "name,phone\nA,1\n"} {
		if _, err := openLeads(strings.NewReader(text), ""); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// found is a result with a value.
func found(row int) result {
	title := "=cmd()"
	return result{
		lead:     lead{row: row, cells: []string{"row " + strconv.Itoa(row)}},
		response: &enrichv1.EnrichResponse{Outcome: enrichv1.Outcome_OUTCOME_PARTIAL, Person: &enrichv1.Person{Title: &title}},
	}
}

func TestResultsGoOnWhereARunStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.csv")
	write := func(rows ...int) {
		t.Helper()
		file, done, err := openResults(path, nil, []string{"name"})
		if err != nil {
			t.Fatal(err)
		}
		if want := rows[0] - 1; done != want {
			t.Fatalf("%d rows found from before, want %d", done, want)
		}
		for _, row := range rows {
			if err := file.write(append([]string{"row " + strconv.Itoa(row)}, resultCells(found(row))...)); err != nil {
				t.Fatal(err)
			}
		}
		if err := file.close(); err != nil {
			t.Fatal(err)
		}
	}
	write(1, 2, 3)
	text, _ := os.ReadFile(path)
	if err := os.WriteFile(path, text[:len(text)-5], 0o600); err != nil { // the third row is cut off
		t.Fatal(err)
	}
	write(3, 4)
	text, _ = os.ReadFile(path)
	if lines := strings.Count(string(text), "\n"); lines != 5 || strings.Count(string(text), "row 3") != 1 {
		t.Errorf("the file has %d lines:\n%s", lines, text)
	}
	if strings.Contains(string(text), ",=cmd()") || !strings.Contains(string(text), "'=cmd()") {
		t.Error("a formula was written as one")
	}
	if _, _, err := openResults(path, nil, []string{"other"}); err == nil {
		t.Error("results of another file are continued")
	}
}

func TestHarmless(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "plain": "plain", "+4930123456": "+4930123456", "-12": "-12", "-": "-",
		"=1": "'=1", "@x": "'@x", "+x": "'+x", "-1+1": "'-1+1", "++1": "'++1", "\tx": "'\tx",
	} {
		if got := harmless(cell); got != want {
			t.Errorf("harmless(%q) = %q, want %q", cell, got, want)
		}
	}
}

func TestBulkKeepsOrderAndBoundsWhatIsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		row := 0
		next := func() (lead, error) {
			if row == 50 {
				return lead{}, io.EOF
			}
			row++
			return lead{row: row, email: strconv.Itoa(row)}, nil
		}
		var underWay, most atomic.Int32
		ask := func(_ context.Context, email string) (*enrichv1.EnrichResponse, error) {
			most.Store(max(most.Load(), underWay.Add(1)))
			defer underWay.Add(-1)
			n, _ := strconv.Atoi(email)
			time.Sleep(time.Duration(50-n) * time.Millisecond) // the first takes longest
			return &enrichv1.EnrichResponse{Email: email}, nil
		}
		want := 1
		err := enrichAll(t.Context(), next, ask, 4, func(r result) error {
			if r.lead.row != want || r.response.GetEmail() != strconv.Itoa(want) {
				t.Errorf("got row %d, want %d", r.lead.row, want)
			}
			want++
			return nil
		})
		if err != nil || want != 51 || most.Load() != 4 {
			t.Errorf("%v after %d rows with %d under way", err, want-1, most.Load())
		}
	})
}

func TestBulkStops(t *testing.T) {
	broken := errors.New("the disk is full")
	next := func() (lead, error) { return lead{}, nil }
	ask := func(context.Context, string) (*enrichv1.EnrichResponse, error) { return nil, nil }
	if err := enrichAll(t.Context(), next, ask, 4, func(result) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of writing", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if err := enrichAll(ctx, next, ask, 4, func(result) error { cancel(); return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the cancellation", err)
	}
	unreadable := func() (lead, error) { return lead{}, broken }
	if err := enrichAll(t.Context(), unreadable, ask, 4, func(result) error { return nil }); !errors.Is(err, broken) {
		t.Errorf("error = %v, want that of reading", err)
	}
}

func TestExplainNamesTheCode(t *testing.T) {
	if got := explain(status.Error(codes.Unavailable, "nobody listens")); got != "Unavailable: nobody listens" {
		t.Errorf("explain = %q", got)
	}
}

func TestCommandLine(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
		says string
	}{
		{"version", 0, "enrichd "},
		{"version --json", 0, `"platform"`},
		{"--help", 0, "demo"},
		{"enrich --help", 0, "--column"},
		{"nonsense", 2, "nonsense"},
		{"enrich", 1, "--file"},
		{"serve --config /does/not/exist", 2, "/does/not/exist"},
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), strings.Fields(test.args), terminal{out: &out, err: &err}); code != test.code {
			t.Errorf("enrichd %s: exit code %d, want %d", test.args, code, test.code)
		}
		if text := out.String() + err.String(); !strings.Contains(text, test.says) {
			t.Errorf("enrichd %s says nothing of %q: %s", test.args, test.says, text)
		}
	}
}
