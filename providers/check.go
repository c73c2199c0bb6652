package providers

import (
	"fmt"
	"slices"

	"github.com/enrichd/enrichd/providers/engine"
)

// Check loads a definition and replays the exchanges recorded beside it. The
// error, of type [engine.Problems], names everything that is wrong: the
// definition itself, cases that come out differently, and rules that no
// exchange reaches.
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
	var problems engine.Problems
	var reached []int
	for _, one := range cases {
		result := replay(definition, one)
		reached = append(reached, result.rules...)
		for _, difference := range result.Differences(one.Expect) {
			problems = append(problems, engine.Problem{File: file, Text: fmt.Sprintf("%s: %s", one.Name, difference)})
		}
	}
	for _, rule := range definition.Rules() {
		if !slices.Contains(reached, rule.Line) {
			problems = append(problems, engine.Problem{
				File: definition.File(), Line: rule.Line, Text: fmt.Sprintf("no recorded exchange reaches this rule (%s)", rule),
			})
		}
	}
	if len(problems) > 0 {
		return problems
	}
	return nil
}
