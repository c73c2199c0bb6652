package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// vendorsFail is what the service says of a lead whose vendors are failing.
var vendorsFail = said(codes.Unavailable, enrich.Unavailable, "breaker_open", "")

// said is an error as the service describes it.
func said(code codes.Code, kind enrich.ErrorKind, class, field string) error {
	details := []protoadapt.MessageV1{&errdetails.ErrorInfo{Reason: string(kind), Metadata: map[string]string{"class": class}}}
	if field != "" {
		details = append(details, &errdetails.BadRequest{FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: field}}})
	}
	described, err := status.New(code, "it says why").WithDetails(details...)
	if err != nil {
		panic(err)
	}
	return described.Err()
}

// TestARefusalOfAllLeavesNothing has a service that would refuse every lead, for
// reasons that are none of theirs, beside one that refuses leads for their own.
func TestARefusalOfAllLeavesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		err error
		all bool
	}{
		"another key":          {said(codes.Unauthenticated, enrich.Unauthenticated, "api_key", ""), true},
		"an unknown field":     {said(codes.InvalidArgument, enrich.Invalid, "unknown_attribute", "fields"), true},
		"a lane of others":     {said(codes.PermissionDenied, enrich.Denied, "lane_not_allowed", "lane"), true},
		"nobody listens":       {status.Error(codes.Unavailable, "connection refused"), true},
		"another service":      {status.Error(codes.Unimplemented, "unknown service"), true},
		"vendors fail":         {vendorsFail, false},
		"an unreadable lead":   {unreadableError(email.ClassNoAt, "no @"), false},
		"somebody who objects": {refusedRow(enrich.ReasonSuppressed), false},
		"a lead in work":       {status.Error(codes.DeadlineExceeded, "still in work"), false},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, "name,email\nA,\"a@acme.example\nB,b@acme.example\n")
			b.answers["b@acme.example"] = test.err
			said, err := b.run()
			if refused := err != nil && !errors.Is(err, errSomeFailed); refused != test.all || refused && err.Error() != explain(test.err) {
				t.Errorf("it ended with %v: %s", err, said)
			}
			if _, err := os.Stat(b.out); errors.Is(err, os.ErrNotExist) != test.all {
				t.Errorf("the file of results: %v", err)
			}
			if left, err := os.ReadDir(filepath.Dir(b.out)); err != nil || test.all && len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			if !test.all {
				b.expect("refused for itself", []string{"b@acme.example"}, []string{"A failed", "B failed"})
			}
		})
	}
}

// TestARefusalKeepsEarlierResults refuses a run over a file that an earlier one
// wrote, and one that began with an answer.
func TestARefusalKeepsEarlierResults(t *testing.T) {
	b := newBench(t, "name,email\nA,a@acme.example\nB,b@acme.example\n")
	b.answers["b@acme.example"] = vendorsFail
	if _, err := b.run(); !errors.Is(err, errSomeFailed) {
		t.Fatal(err)
	}
	before := readText(t, b.out)
	refusal := said(codes.Unauthenticated, enrich.Unauthenticated, "api_key", "")
	b.answers["b@acme.example"] = refusal
	if _, err := b.run(); err == nil || errors.Is(err, errSomeFailed) {
		t.Errorf("the refused run ended with %v", err)
	}
	if after := readText(t, b.out); after != before {
		t.Errorf("the refused run changed the results to\n%s", after)
	}

	begun := newBench(t, b.leads)
	begun.answers["b@acme.example"] = refusal
	if _, err := begun.run(); !errors.Is(err, errSomeFailed) {
		t.Errorf("the run whose key ended ended with %v", err)
	}
	begun.expect("a key that ended", []string{"a@acme.example", "b@acme.example"}, []string{"A partial", "B failed"})
}

// TestAFileThatIsNotTakenInLeavesNothing refuses a file that is handed in whole.
func TestAFileThatIsNotTakenInLeavesNothing(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out.csv")
	in := filepath.Join(t.TempDir(), "in.csv")
	if err := os.WriteFile(in, []byte("email\na@acme.example\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused := errors.New("fields: unknown")
	var printed bytes.Buffer
	for _, to := range []string{out, "-"} {
		command := enrichCommand{File: in, Out: to, Parallel: 1}
		err := command.enrichFile(t.Context(), terminal{out: &printed, err: io.Discard}, nil, func(context.Context, io.ReadSeeker) (*handedIn, error) { return nil, refused })
		if !errors.Is(err, refused) {
			t.Errorf("to %s it ended with %v", to, err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 || printed.Len() > 0 {
		t.Errorf("left behind: %v, %v, printed %q", left, err, &printed)
	}
}

// TestRefusedFilesOverAService refuses files as a service does, in whole and lead
// by lead.
func TestRefusedFilesOverAService(t *testing.T) {
	o := serveLeads(t)
	defer o.stop()
	in := filepath.Join(o.folder, "leads.csv")
	o.write(in, someLeads)
	for name, test := range map[string]struct {
		says string
		args []string
	}{
		"fields":   {"unknown_attribute", []string{"--fields", "nonsense"}},
		"key":      {"api_key", []string{"--key", "wrong"}},
		"services": {"no enrichd was reached", []string{"--server", "127.0.0.1:1", "--patience", "100ms"}},
	} {
		for _, how := range [][]string{nil, {"--direct"}} {
			out := filepath.Join(t.TempDir(), "out.csv")
			args := append(append([]string{"enrich", "--file", in, "--out", out}, test.args...), how...)
			code, _, said := command(t, "", args...)
			if code != 1 || !strings.Contains(said, test.says) {
				t.Errorf("%s %v: exit code %d: %s", name, how, code, said)
			}
			if left, err := os.ReadDir(filepath.Dir(out)); err != nil || len(left) > 0 {
				t.Errorf("%s %v left behind: %v, %v", name, how, left, err)
			}
		}
	}
}
