package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/loadtest/workload"
)

// openFiles finds files that cannot be read before anything is started or asked.
func openFiles(s *scenario.Scenario) error {
	var problems []error
	for _, t := range s.Traffic {
		if _, _, err := workload.New(t.Name, t.Workload); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", t.Name, err))
		}
	}
	if s.Target != nil && s.Target.KeyFile != "" {
		text, err := os.ReadFile(filepath.Clean(s.Target.KeyFile))
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("target: key_file: %w", err))
		case strings.TrimSpace(string(text)) == "":
			problems = append(problems, fmt.Errorf("target: key_file: %s is empty", s.Target.KeyFile))
		}
	}
	if s.Target != nil && s.Target.TLS != nil {
		if _, err := s.Target.TLS.Config(); err != nil {
			problems = append(problems, fmt.Errorf("target: tls: %w", err))
		}
	}
	return errors.Join(problems...)
}

// sayWhatWouldBeDone is the dry run.
func sayWhatWouldBeDone(w io.Writer, s *scenario.Scenario) {
	fmt.Fprintf(w, "%s would ask for %s; add --really to do it:\n", s.Name, s.Length)
	for _, at := range []struct{ what, address, name string }{
		{"grpc", s.Target.GRPC, s.Target.GRPCName}, {"rest", s.Target.REST, s.Target.RESTName}, {"vendors, for their ledgers", s.Target.Vendors, ""},
	} {
		encrypted := ""
		if s.Target.TLS != nil && at.name != "" {
			encrypted = ", with TLS, by the certificate of " + at.name
		}
		if at.address != "" {
			fmt.Fprintf(w, "  %s at %s%s\n", at.what, at.address, encrypted)
		}
	}
	switch {
	case s.Target.KeyFile != "" && s.Target.TLS == nil:
		fmt.Fprintf(w, "  with the key in %s, which is sent without encryption\n", s.Target.KeyFile)
	case s.Target.KeyFile != "":
		fmt.Fprintf(w, "  with the key in %s\n", s.Target.KeyFile)
	}
	if s.Target.TLS != nil && s.Target.TLS.CertFile != "" {
		fmt.Fprintf(w, "  with the client certificate in %s\n", s.Target.TLS.CertFile)
	}
	for _, t := range s.Traffic {
		how := fmt.Sprintf("%d workers one exchange after the other", t.Workers)
		if t.Rate > 0 {
			how = fmt.Sprintf("%g leads a second", t.Rate)
		}
		whom := t.Workload.Kind
		if t.Workload.File != "" {
			whom += " " + t.Workload.File
		}
		fmt.Fprintf(w, "  %s: %s, via %s, %s\n", t.Name, how, t.Via, whom)
	}
	fmt.Fprintln(w, "vendors behind a real service bill what it asks of them")
}
