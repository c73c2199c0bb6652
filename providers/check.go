package providers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/engine"
)

// Check loads a definition and replays the exchanges recorded beside it. The
// error, of type [engine.Problems], names everything that is wrong: the
// definition itself, cases that cannot be read or come out differently, and
// what no exchange tries: rules, attributes, expressions.
func Check(library Library, name string) error {
	definition, err := library.Load(name)
	if err != nil {
		return err
	}
	file, data, err := library.exchanges(name)
	if err != nil {
		return engine.Problems{{File: definition.File(), Text: "there are no recorded exchanges beside it: " + file + " is missing"}}
	}
	cases, err := ReadCases(data)
	if err != nil {
		return engine.Problems{{File: file, Text: err.Error()}}
	}
	check := checking{definition: definition, file: file, filled: map[string]map[enrich.Attribute]bool{}}
	for _, one := range cases {
		check.replay(one)
	}
	check.coverage()
	if len(check.problems) > 0 {
		return check.problems
	}
	return nil
}

// checking is a check under way.
type checking struct {
	definition *engine.Definition
	file       string // of the exchanges
	problems   engine.Problems
	trace      engine.Trace
	reached    []int                                // lines of rules
	filled     map[string]map[enrich.Attribute]bool // by call
}

func (c *checking) problem(one ReplayCase, format string, args ...any) {
	c.problems = append(c.problems, engine.Problem{File: c.file, Line: one.line, Text: one.title() + ": " + fmt.Sprintf(format, args...)})
}

// replay replays one case and says what is wrong with it.
func (c *checking) replay(one ReplayCase) {
	for _, key := range one.unknown {
		c.problem(one, "unknown key %q", key)
	}
	if one.Definition != "" && one.Definition != c.definition.Name {
		c.problem(one, "it belongs to the definition %q", one.Definition)
		return
	}
	if len(one.Expect) == 0 {
		c.problem(one, "it expects nothing")
	}
	result := replay(c.definition, one, &c.trace)
	c.reached = append(c.reached, result.rules...)
	if c.filled[result.call] == nil {
		c.filled[result.call] = map[enrich.Attribute]bool{}
	}
	for attribute := range result.Facts {
		c.filled[result.call][attribute] = true
	}
	for _, difference := range result.Differences(one.Expect) {
		c.problem(one, "%s", difference)
	}
}

// coverage names what no case tried.
func (c *checking) coverage() {
	for _, rule := range c.definition.Rules() {
		if !slices.Contains(c.reached, rule.Line) {
			c.untried(rule.Line, "no recorded exchange reaches this rule (%s)", rule)
		}
	}
	// Calls may share a map, which one of them has to try.
	filled, in := map[engine.Mapped]bool{}, map[engine.Mapped]string{}
	for _, call := range c.definition.Calls() {
		for _, mapped := range call.Mapped() {
			filled[mapped] = filled[mapped] || c.filled[call.Operation][mapped.Attribute]
			in[mapped] = cmp.Or(in[mapped], call.Operation)
		}
	}
	for _, mapped := range slices.SortedFunc(maps.Keys(filled), func(a, b engine.Mapped) int { return cmp.Compare(a.Line, b.Line) }) {
		if !filled[mapped] {
			c.untried(mapped.Line, "no recorded exchange of %s brings %s", in[mapped], mapped.Attribute)
		}
	}
	c.problems = append(c.problems, c.trace.Problems(c.definition.File())...)
}

func (c *checking) untried(line int, format string, args ...any) {
	c.problems = append(c.problems, engine.Problem{File: c.definition.File(), Line: line, Text: fmt.Sprintf(format, args...)})
}
