package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/enrichd/enrichd/providers/forms"
)

// Path leads from a record to values in it:
//
//	data.name.fullName            keys
//	results[0].name               one element; [-1] is the last
//	tech[*].name                  every element
//	phones[type=mobile].e164      the elements that pass a test
//	emails[email=$email].status   a test against a variable
//	jobs[key=@current_key].title  a test against another path of the record
//	status_by_address[$email]     a key held by a variable
//	["odd.key"]                   a key with marks in it
//
// A test may name alternatives (type=direct|work), be negated (type!=fax), and
// be combined with others by a comma. Texts are compared without regard to
// case. The empty Path is the record itself.
type Path struct {
	text  string
	steps []pathStep
	// plain is set when all steps are keys, as in most paths.
	plain bool
}

// pathStep goes one level down.
type pathStep struct {
	kind  stepKind
	key   string
	name  variable // the variable that holds the key
	index int
	tests []test
}

type stepKind int

const (
	byKey stepKind = iota
	byVariable
	byIndex
	byAll
	byTests
)

// test compares what a path finds in an element.
type test struct {
	path    Path
	negated bool
	any     []operand
}

// operand is a literal, a variable, or a path of the record.
type operand struct {
	text string
	name variable
	path *Path
}

// found is what a path leads to.
type found struct {
	values []any
	// sent is true when the vendor sent the field, be it empty.
	sent bool
	// broken is true when something on the way has another type than the path
	// needs.
	broken bool
}

// String returns the path as it is written.
func (p Path) String() string { return p.text }

func parsePath(text string) (Path, error) {
	path := Path{text: text, plain: true}
	rest := text
	for rest != "" {
		var step pathStep
		var err error
		if rest[0] == '[' {
			step, rest, err = parseBrackets(rest)
		} else {
			step, rest, err = parseKey(rest, len(path.steps) == 0)
		}
		if err != nil {
			return Path{}, fmt.Errorf("path %q: %w", text, err)
		}
		path.steps = append(path.steps, step)
		path.plain = path.plain && step.kind == byKey
	}
	return path, nil
}

func parseKey(text string, first bool) (pathStep, string, error) {
	if !first {
		if text[0] != '.' {
			return pathStep{}, "", fmt.Errorf("a dot belongs before %q", text)
		}
		text = text[1:]
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	key := text[:end]
	if key == "" || strings.ContainsAny(key, " ]=$@*\"") {
		return pathStep{}, "", fmt.Errorf("%q is not a key; put odd ones in quotes and brackets", key)
	}
	return pathStep{key: key}, text[end:], nil
}

func parseBrackets(text string) (pathStep, string, error) {
	if strings.HasPrefix(text, `["`) {
		key, rest, ok := strings.Cut(text[2:], `"]`)
		if !ok {
			return pathStep{}, "", errors.New(`a quoted key ends with "]`)
		}
		return pathStep{key: key}, rest, nil
	}
	inside, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return pathStep{}, "", errors.New("a bracket is not closed")
	}
	if inside == "" || inside == "*" {
		return pathStep{kind: byAll}, rest, nil
	}
	if index, err := strconv.Atoi(inside); err == nil {
		return pathStep{kind: byIndex, index: index}, rest, nil
	}
	if name, is := strings.CutPrefix(inside, "$"); is && !strings.Contains(name, "=") {
		return pathStep{kind: byVariable, name: variable(name)}, rest, nil
	}
	step := pathStep{kind: byTests}
	for part := range strings.SplitSeq(inside, ",") {
		test, err := parseTest(part)
		if err != nil {
			return pathStep{}, "", err
		}
		step.tests = append(step.tests, test)
	}
	return step, rest, nil
}

func parseTest(text string) (test, error) {
	left, right, ok := strings.Cut(text, "=")
	if !ok {
		return test{}, fmt.Errorf("%q is not a test such as type=mobile", text)
	}
	left, negated := strings.CutSuffix(left, "!")
	path, err := parsePath(strings.TrimSpace(left))
	if err != nil {
		return test{}, err
	}
	parsed := test{path: path, negated: negated}
	for alternative := range strings.SplitSeq(right, "|") {
		alternative = strings.TrimSpace(alternative)
		var one operand
		switch {
		case strings.HasPrefix(alternative, "$"):
			one.name = variable(alternative[1:])
		case strings.HasPrefix(alternative, "@"):
			other, err := parsePath(alternative[1:])
			if err != nil {
				return test{}, err
			}
			one.path = &other
		default:
			one.text = alternative
		}
		parsed.any = append(parsed.any, one)
	}
	return parsed, nil
}

// variables returns the variables that the path refers to.
func (p Path) variables() []variable {
	var names []variable
	for _, step := range p.steps {
		if step.kind == byVariable {
			names = append(names, step.name)
		}
		for _, test := range step.tests {
			names = append(names, test.path.variables()...)
			for _, operand := range test.any {
				if operand.name != "" {
					names = append(names, operand.name)
				}
				if operand.path != nil {
					names = append(names, operand.path.variables()...)
				}
			}
		}
	}
	return names
}

// room is memory for the value of a plain path, so that finding it takes none.
type room [1]any

// find follows the path from the record. What it finds may stand in the room.
func (p *Path) find(record any, s *Scope, room *room) found {
	if p.plain {
		value, led, without := p.descend(record)
		if !led {
			return without
		}
		room[0] = value
		return found{values: room[:], sent: true}
	}
	var out found
	walk{record: record, scope: s, out: &out}.down(record, p.steps)
	return out
}

// descend follows a plain path to its value. Where it leads to none, without is
// what was found.
func (p *Path) descend(value any) (_ any, led bool, without found) {
	for i := range p.steps {
		if value == nil {
			return nil, false, found{sent: true} // all below an empty field is empty
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, false, found{broken: true}
		}
		if value, ok = object[p.steps[i].key]; !ok {
			return nil, false, found{sent: len(object) == 0}
		}
	}
	return value, true, found{}
}

// first returns the first value that the path leads to, or nil.
func (p *Path) first(record any, s *Scope) any {
	if p.plain {
		value, _, _ := p.descend(record)
		return value
	}
	if found := p.find(record, s, new(room)); len(found.values) > 0 {
		return found.values[0]
	}
	return nil
}

// textOf returns the first scalar that the path leads to as text, or "".
func (p *Path) textOf(record any, s *Scope) string {
	text, _ := forms.ScalarText(p.first(record, s))
	return text
}

// walk goes down a record.
type walk struct {
	record any
	scope  *Scope
	out    *found
}

func (w walk) down(value any, steps []pathStep) {
	if len(steps) == 0 {
		w.out.sent = true
		w.out.values = append(w.out.values, value)
		return
	}
	if value == nil {
		w.out.sent = true // all below an empty field is empty
		return
	}
	step, rest := steps[0], steps[1:]
	switch step.kind {
	case byKey:
		w.member(value, step.key, rest)
	case byVariable:
		w.member(value, step.name.in(w.scope), rest)
	default:
		w.elements(value, step, rest)
	}
}

func (w walk) member(value any, key string, rest []pathStep) {
	object, ok := value.(map[string]any)
	if !ok {
		w.out.broken = true
		return
	}
	if child, sent := object[key]; sent {
		w.down(child, rest)
	} else if len(object) == 0 {
		w.out.sent = true
	}
}

func (w walk) elements(value any, step pathStep, rest []pathStep) {
	list, ok := value.([]any)
	if !ok {
		if _, isObject := value.(map[string]any); isObject {
			w.out.broken = true
			return
		}
		list = []any{value} // a single value where a list is known
	}
	w.out.sent = w.out.sent || len(list) == 0
	if step.kind == byIndex {
		index := step.index
		if index < 0 {
			index += len(list)
		}
		if index < 0 || index >= len(list) {
			w.out.sent = true
			return
		}
		w.down(list[index], rest)
		return
	}
	matched := false
	for _, element := range list {
		if w.passes(element, step.tests, len(list)) {
			matched = true
			w.down(element, rest)
		}
	}
	w.out.sent = w.out.sent || !matched
}

func (w walk) passes(element any, tests []test, siblings int) bool {
	for _, test := range tests {
		if w.holds(element, test, siblings) == test.negated {
			return false
		}
	}
	return true
}

func (w walk) holds(element any, test test, siblings int) bool {
	value := test.path.first(element, w.scope)
	text, isScalar := forms.ScalarText(value)
	for _, operand := range test.any {
		wanted := operand.text
		switch {
		case operand.name == "reference" && w.scope.Reference == "":
			if siblings == 1 {
				return true
			}
			continue
		case operand.name != "":
			wanted = operand.name.in(w.scope)
		case operand.path != nil:
			wanted = operand.path.textOf(w.record, w.scope)
		case operand.text == "null" && value == nil:
			return true
		}
		if isScalar && wanted != "" && strings.EqualFold(text, wanted) {
			return true
		}
	}
	return false
}
