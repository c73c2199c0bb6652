package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// Trace gathers what came of a definition while recorded answers were read, so
// that parts of no use are found. The zero Trace is empty; one goroutine may
// use it.
type Trace struct {
	// failed holds the last error of each expression that was never evaluated
	// without one.
	failed map[traced]string
	worked map[traced]bool
}

// traced tells one expression from another.
type traced struct {
	line int
	text string
}

func (t *Trace) note(e Expression, err error) {
	if t.failed == nil {
		t.failed, t.worked = map[traced]string{}, map[traced]bool{}
	}
	key := traced{e.line, e.text}
	if err == nil {
		t.worked[key] = true
		return
	}
	t.failed[key], _, _ = strings.Cut(err.Error(), "\n")
}

// Problems names the expressions that could never be evaluated.
func (t *Trace) Problems(file string) Problems {
	var problems Problems
	for key, message := range t.failed {
		if !t.worked[key] {
			problems = append(problems, Problem{file, key.line, fmt.Sprintf("this expression fails for every recorded answer: %s", message)})
		}
	}
	slices.SortFunc(problems, func(a, b Problem) int { return cmp.Compare(a.Line, b.Line) })
	return problems
}

// Mapped is an attribute that a step of a call maps, and where.
type Mapped struct {
	Attribute enrich.Attribute
	Line      int
}

// Mapped returns all that the call maps, each attribute of each map once.
func (c *Call) Mapped() []Mapped {
	var all []Mapped
	for _, step := range c.steps {
		for _, mapping := range step.mappings {
			if one := (Mapped{mapping.spec.Attribute, mapping.line}); !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}
