package fakevendor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// Config is what a Server serves.
type Config struct {
	// Seed of the invented world and of all chance. The same seed gives the
	// same people, gaps and faults in every process.
	Seed uint64 `yaml:"seed"`
	// LedgerEntries is how many of its newest calls each vendor keeps one by
	// one; the counters see all. 0: 10,000.
	LedgerEntries int `yaml:"ledger_entries"`
	// PaidSubjects is how many subjects each vendor remembers as paid for, to
	// tell duplicates and free repeats; calls for further ones are counted as
	// untracked. 0: 1,000,000.
	PaidSubjects int `yaml:"paid_subjects"`
	// Vendors by the name that begins the paths of their calls. A zero Vendor
	// speaks the dialect of its name under the published limits and prices.
	Vendors map[string]Vendor `yaml:"vendors"`
}

// Vendor is one fake vendor.
type Vendor struct {
	// Dialect is the real vendor imitated; empty: the one of the vendor's name.
	Dialect string `yaml:"dialect"`
	// Account is who may call and what it costs.
	Account Account `yaml:"account"`
	// Limits is how often.
	Limits Limits `yaml:"limits"`
	// Data is what the vendor knows; absent: a part typical of the dialect.
	Data *Data `yaml:"data"`
	// Faults is how it misbehaves; zero: not at all.
	Faults Faults `yaml:"faults"`
}

// The default sizes.
const (
	defaultLedgerEntries = 10_000
	defaultPaidSubjects  = 1_000_000
	mostLedgerEntries    = 10_000_000
	mostPaidSubjects     = 100_000_000
)

// Parse reads a configuration in YAML. Unknown keys are refused; every other
// problem is Validate's.
func Parse(r io.Reader) (Config, error) {
	text, err := io.ReadAll(io.LimitReader(r, mostConfigBytes+1))
	switch {
	case err != nil:
		return Config{}, fmt.Errorf("fake vendors: %w", err)
	case len(text) > mostConfigBytes:
		return Config{}, fmt.Errorf("fake vendors: longer than %d bytes", mostConfigBytes)
	case tooDeep(text):
		return Config{}, fmt.Errorf("fake vendors: lists and mappings nest deeper than %d levels", mostDepth)
	}
	var config Config
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return Config{}, fmt.Errorf("fake vendors: %w", err)
	}
	return config, nil
}

// The bounds of a file, far above any real one: the parser takes time that grows
// with the square of the depth.
const (
	mostConfigBytes = 1 << 20
	mostDepth       = 64
)

// tooDeep counts the brackets and dashes that could open lists and mappings in
// each other, wherever they stand.
func tooDeep(text []byte) bool {
	flow := 0
	for line := range bytes.Lines(text) {
		run := 0
		for i, b := range line {
			opens := i+1 == len(line) || line[i+1] == ' ' || line[i+1] == '\t' || line[i+1] == '\n'
			switch {
			case b == '[' || b == '{':
				flow++
			case b == ']' || b == '}':
				flow--
			case (b == '-' || b == '?') && opens:
				run++
			case b != ' ' && b != '\t':
				run = 0
			}
			if flow+run > mostDepth {
				return true
			}
		}
	}
	return false
}

// Validate returns every problem of the configuration, or nil.
func (c Config) Validate() error {
	var problems []error
	if c.LedgerEntries < 0 || c.LedgerEntries > mostLedgerEntries {
		problems = append(problems, fmt.Errorf("ledger_entries: %d is not from 0 to %d", c.LedgerEntries, mostLedgerEntries))
	}
	if c.PaidSubjects < 0 || c.PaidSubjects > mostPaidSubjects {
		problems = append(problems, fmt.Errorf("paid_subjects: %d is not from 0 to %d", c.PaidSubjects, mostPaidSubjects))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Vendors)) {
		problems = append(problems, within("vendors."+name, c.Vendors[name].problems(name)))
	}
	return errors.Join(problems...)
}

func (v Vendor) problems(name string) error {
	var problems []error
	if name == "" || name == controlName || strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
	}) {
		problems = append(problems, errors.New("a vendor's name is of a-z, 0-9, - and _, and is not "+controlName))
	}
	d, err := v.dialectOf(name)
	if err != nil {
		return errors.Join(append(problems, err)...)
	}
	problems = append(problems,
		within("account", v.Account.validate(d)),
		within("limits", v.Limits.validate(d)),
		within("faults", v.Faults.validate(d)))
	if v.Data != nil {
		problems = append(problems, within("data", v.Data.validate()))
	}
	return errors.Join(problems...)
}

// dialectOf returns the dialect that a vendor of this name speaks.
func (v Vendor) dialectOf(name string) (*dialect, error) {
	if v.Dialect != "" {
		name = v.Dialect
	}
	if d, ok := dialects[name]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("dialect: %q is none of %s", name, strings.Join(Dialects(), ", "))
}

// within says where each of the joined problems is.
func within(path string, err error) error {
	if err == nil {
		return nil
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var problems []error
		for _, problem := range joined.Unwrap() {
			problems = append(problems, within(path, problem))
		}
		return errors.Join(problems...)
	}
	return fmt.Errorf("%s.%w", path, err)
}
