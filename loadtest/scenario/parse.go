package scenario

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/enrichd/enrichd/loadtest/drive"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/providers/fakevendor"
)

// The bounds of a scenario, far above what two cores can ask for.
const (
	longest      = time.Hour
	mostReplicas = 32
	mostAtOnce   = 100_000 // a second, or under way
	mostClump    = 10_000  // each of them needs a goroutine at the same moment
	mostLeads    = 1_000_000_000
	mostSkew     = 10
	longestName  = 40 // a part of a domain has no more than 63
)

// trafficName is what can be a part of a domain, where fresh leads work, and of
// a figure's name.
var trafficName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// purpose is what the contract takes for one.
var purpose = regexp.MustCompile(`^[a-z0-9_]{0,64}$`)

// Parse reads a scenario strictly and returns every problem of it at once.
func Parse(file string, r io.Reader) (*Scenario, error) {
	s := &Scenario{Name: strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))}
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict())
	if err := decoder.Decode(s); err != nil && !errors.Is(err, io.EOF) { // nothing is a scenario with everything missing
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := decoder.Decode(&map[string]any{}); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: there is more than one document; a file has one scenario", file)
	}
	var raw map[string]any
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	s.setDefaults()
	if err := errors.Join(append(s.problems(), emptyTLS(raw))...); err != nil {
		return nil, fmt.Errorf("%s:\n%w", file, err)
	}
	return s, nil
}

func (s *Scenario) setDefaults() {
	if s.Replicas == 0 {
		s.Replicas = 1
	}
	if s.Target != nil {
		s.Target.setDefaults()
	}
	for i := range s.Traffic {
		t := &s.Traffic[i]
		if t.Via == "" {
			t.Via = "grpc"
		}
		if t.Workload.Kind == "" {
			t.Workload.Kind = "fresh"
		}
		if t.Workload.Skew == 0 {
			t.Workload.Skew = 1.1
		}
		if t.Workers == 0 {
			t.Workers = 64
			if t.Rate > 0 {
				t.Workers = 10_000
			}
		}
		if t.Batch == 0 {
			t.Batch = 1
			if t.Via == "batch" || t.Via == "stream" {
				t.Batch = 100
			}
		}
		if t.Clump == 0 {
			t.Clump = 1
		}
		if t.Until == 0 {
			t.Until = s.Length
		}
	}
}

func (s *Scenario) problems() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.Length <= 0 || s.Length > longest {
		problem("length: %s is not between 0 and %s", s.Length, longest)
	}
	if s.Replicas < 1 || s.Replicas > mostReplicas {
		problem("replicas: %d is not between 1 and %d", s.Replicas, mostReplicas)
	}
	if s.Target != nil {
		for _, err := range s.Target.problems() {
			problem("target: %w", err)
		}
		if len(s.Vendors) > 0 || len(s.Events) > 0 || s.Redis || len(s.Service) > 0 {
			problem("target: vendors, events, redis and service are those of a fleet that is started here")
		}
	} else if err := s.FakeVendors().Validate(); err != nil {
		problem("vendors: %w", err)
	}
	if len(s.Traffic) == 0 {
		problem("traffic: nobody asks")
	}
	vendors := map[string]bool{}
	for i, vendor := range s.Vendors {
		if vendors[vendor.Name] {
			problem("vendors[%d]: name: %q is there twice", i, vendor.Name)
		}
		vendors[vendor.Name] = true
	}
	names := map[string]bool{}
	for i, t := range s.Traffic {
		for _, err := range t.problems(s) {
			problem("traffic[%d]: %w", i, err)
		}
		if names[t.Name] {
			problem("traffic[%d]: name: %q is there twice", i, t.Name)
		}
		names[t.Name] = true
	}
	for i, e := range s.Events {
		for _, err := range e.problems(s) {
			problem("events[%d]: %w", i, err)
		}
	}
	problems = append(problems, s.startsOfWhatRuns()...)
	for i, line := range s.SLO {
		if _, err := ParseBound(line); err != nil {
			problem("slo[%d]: %w", i, err)
		}
	}
	return problems
}

func (t Traffic) problems(s *Scenario) (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if s.Target != nil && t.Via == "rest" && s.Target.REST == "" {
		problem("via: rest, and target has no rest")
	}
	if s.Target != nil && t.Via != "rest" && s.Target.GRPC == "" {
		problem("via: %s, and target has no grpc", t.Via)
	}
	if s.Target != nil && (t.Account != "" || len(t.Replicas) > 0) {
		problem("account and replicas are those of a fleet that is started here; a target has the key of its key_file")
	}
	if !trafficName.MatchString(t.Name) || len(t.Name) > longestName {
		problem("name: %q is not of a-z, 0-9 and -, at most %d, and not - at first", t.Name, longestName)
	}
	if !slices.Contains(drive.Ways, t.Via) {
		problem("via: %q is none of %s", t.Via, strings.Join(drive.Ways, ", "))
	}
	if !slices.Contains([]string{"", "interactive", "standard", "bulk"}, t.Lane) {
		problem("lane: %q is none of interactive, standard, bulk", t.Lane)
	}
	if !(t.Rate >= 0 && t.Rate <= mostAtOnce) { // so that what is no number is not either
		problem("rate: %v is not between 0 and %d", t.Rate, mostAtOnce)
	}
	if t.Workers < 1 || t.Workers > mostAtOnce {
		problem("workers: %d is not between 1 and %d", t.Workers, mostAtOnce)
	}
	if t.Clump < 1 || t.Clump > mostClump {
		problem("clump: %d is not between 1 and %d", t.Clump, mostClump)
	}
	if t.Clump > 1 && t.Rate == 0 {
		problem("clump: needs a rate")
	}
	if t.Leads < 0 || t.Leads > mostLeads {
		problem("leads: %d is not between 0 and %d", t.Leads, mostLeads)
	}
	if t.Budget < 0 || t.Budget > longest {
		problem("budget: %s is not between 0 and %s", t.Budget, longest)
	}
	if !purpose.MatchString(t.Purpose) {
		problem("purpose: %q is not of a-z, 0-9 and _, at most 64", t.Purpose)
	}
	for _, field := range t.Fields {
		if _, err := fieldmaskpb.New(&enrichv1.EnrichResponse{}, field); err != nil {
			problem("fields: there is no %q", field)
		}
	}
	if t.Batch < 1 || t.Batch > 1000 {
		problem("batch: %d is not between 1 and 1000", t.Batch)
	}
	if t.Batch > 1 && t.Via != "batch" && t.Via != "stream" {
		problem("batch: %s asks for one lead at a time", t.Via)
	}
	if t.From < 0 || t.Until > s.Length || t.From >= t.Until {
		problem("from and until: %s to %s is not within the length", t.From, t.Until)
	}
	for _, n := range t.Replicas {
		if n < 1 || n > s.Replicas {
			problem("replicas: there is no replica %d", n)
		}
	}
	switch w := t.Workload; w.Kind {
	case "fresh", "same":
	case "zipf":
		if w.People < 2 || w.People > mostLeads || !(w.Skew > 1 && w.Skew <= mostSkew) {
			problem("workload: zipf needs 2 people or more, up to %d, and a skew above 1, up to %d", mostLeads, mostSkew)
		}
	case "csv":
		if w.File == "" {
			problem("workload: csv needs a file")
		}
	default:
		problem("workload: kind: %q is none of fresh, zipf, same, csv", w.Kind)
	}
	return problems
}

// ledgerEntries is how many calls each vendor keeps one by one, to be judged.
const ledgerEntries = 1_000_000

// FakeVendors is the configuration of the vendors.
func (s *Scenario) FakeVendors() fakevendor.Config {
	config := fakevendor.Config{Seed: 1, LedgerEntries: ledgerEntries, Vendors: map[string]fakevendor.Vendor{}}
	for _, vendor := range s.Vendors {
		config.Vendors[vendor.Name] = vendor.Fake
	}
	return config
}

// WithLength returns the scenario with another length.
func (s *Scenario) WithLength(length time.Duration) (*Scenario, error) {
	changed := *s
	changed.Traffic = slices.Clone(s.Traffic)
	for i := range changed.Traffic {
		if t := &changed.Traffic[i]; t.Until == s.Length || t.Until > length {
			t.Until = length
		}
	}
	changed.Events = slices.DeleteFunc(slices.Clone(s.Events), func(e Event) bool { return e.At >= length })
	changed.Length = length
	return &changed, errors.Join(changed.problems()...)
}
