package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
)

// checkSLO finds figures that no run of the scenario can bring: a misspelt one
// would be told as "not measured" when the run is over.
func checkSLO(s *scenario.Scenario) error {
	var problems []error
	for i, line := range s.SLO {
		bound, err := scenario.ParseBound(line)
		if err != nil { // told when the scenario was read
			continue
		}
		if err := checkFigure(s, bound.Figure); err != nil {
			problems = append(problems, fmt.Errorf("slo[%d]: %s: %w", i, line, err))
		}
	}
	return errors.Join(problems...)
}

var (
	waits  = []string{"p50", "p95", "p99", "max"}
	growth = []string{"memory", "goroutines", "fds", "threads"}
)

// checkFigure takes a figure's name apart. Neither traffic nor vendors have dots
// in their names.
func checkFigure(s *scenario.Scenario, name string) error {
	parts := strings.Split(name, ".")
	switch kind := parts[0]; {
	case judge.Meaning(name) == "":
		return errors.New("there is no such figure")
	case kind == "growth":
		if len(parts) != 2 || !slices.Contains(growth, parts[1]) {
			return fmt.Errorf("its form is growth and one of %s", strings.Join(growth, ", "))
		}
		return nil
	case kind == "wait":
		if len(parts) != 3 || !slices.Contains(waits, parts[2]) {
			return fmt.Errorf("its form is wait.TRAFFIC and one of %s", strings.Join(waits, ", "))
		}
	case len(parts) == 1:
		return nil
	case len(parts) > 2:
		return fmt.Errorf("its form is %s.NAME", kind)
	case kind == "quota_used":
		if s.Target == nil && !slices.ContainsFunc(s.Vendors, func(v scenario.Vendor) bool { return v.Name == parts[1] }) {
			return fmt.Errorf("there is no vendor %q", parts[1])
		}
		return nil // whose ledgers judge a target is known when they are read
	}
	if !slices.ContainsFunc(s.Traffic, func(t scenario.Traffic) bool { return t.Name == parts[1] }) {
		return fmt.Errorf("there is no traffic %q", parts[1])
	}
	return nil
}
