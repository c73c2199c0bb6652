package engine

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/providers/forms"
)

// Condition tells whether an answer is of a kind. All of its parts must hold;
// the zero Condition holds for every answer. Paths start at the body.
type Condition struct {
	steps   []string
	status  []statusRange
	header  []expectation
	types   []string
	where   []expectation
	any     []Path // at least one has a value
	all     []Path // each has a value
	none    []Path // none has a value
	texts   []string
	pattern *regexp.Regexp
	when    *Expression
}

// statusRange is an inclusive range of status codes.
type statusRange struct{ from, to int }

// expectation is that a header or field has one of some values.
type expectation struct {
	header string
	path   Path
	values []allowed
}

// allowed is one value that a field may have: a text, in which stars stand for
// anything, the value of a variable, or nothing at all.
type allowed struct {
	pattern forms.Pattern
	name    variable
	nothing bool
}

// isOpen tells whether the condition holds for every answer.
func (c *Condition) isOpen() bool {
	return len(c.steps) == 0 && len(c.status) == 0 && len(c.header) == 0 && len(c.types) == 0 && len(c.where) == 0 &&
		len(c.any) == 0 && len(c.all) == 0 && len(c.none) == 0 && len(c.texts) == 0 && c.pattern == nil && c.when == nil
}

// holds tells whether the answer is of this kind.
func (c *Condition) holds(a *Answer, s *Scope) bool { return c.holdsIn(a, a.body, s) }

// holdsIn is holds with paths that start at root instead of the body.
func (c *Condition) holdsIn(a *Answer, root any, s *Scope) bool {
	return c.holdsOutside(a, s) && c.holdsInside(a, root, s) && (c.when == nil || c.when.holds(a.view(s)))
}

// holdsOutside judges what is around the body.
func (c *Condition) holdsOutside(a *Answer, s *Scope) bool {
	if len(c.steps) > 0 && !containsFold(c.steps, a.step) {
		return false
	}
	if len(c.types) > 0 && !containsFold(c.types, a.mediaType()) {
		return false
	}
	for _, header := range c.header {
		if !header.allows(strings.TrimSpace(a.Header.Get(header.header)), s) {
			return false
		}
	}
	if len(c.status) == 0 {
		return true
	}
	for _, r := range c.status {
		if r.from <= a.Status && a.Status <= r.to {
			return true
		}
	}
	return false
}

// holdsInside judges the body.
func (c *Condition) holdsInside(a *Answer, root any, s *Scope) bool {
	for _, field := range c.where {
		if !field.holds(root, s) {
			return false
		}
	}
	for i := range c.all {
		if !hasValue(&c.all[i], root, s) {
			return false
		}
	}
	for i := range c.none {
		if hasValue(&c.none[i], root, s) {
			return false
		}
	}
	return c.anyHasValue(root, s) && c.textHolds(a)
}

func (c *Condition) anyHasValue(root any, s *Scope) bool {
	for i := range c.any {
		if hasValue(&c.any[i], root, s) {
			return true
		}
	}
	return len(c.any) == 0
}

func (c *Condition) textHolds(a *Answer) bool {
	if c.pattern != nil && !c.pattern.MatchString(a.text) {
		return false
	}
	if len(c.texts) == 0 {
		return true
	}
	lower := strings.ToLower(a.text)
	for _, text := range c.texts {
		if strings.Contains(lower, text) {
			return true
		}
	}
	return false
}

func (e expectation) holds(root any, s *Scope) bool {
	var room room
	values := e.path.find(root, s, &room).values
	for _, value := range values {
		if text, ok := forms.ScalarText(value); ok && e.allows(text, s) {
			return true
		}
		if forms.SaysNothing(value) && e.allowsNothing() {
			return true
		}
	}
	return len(values) == 0 && e.allowsNothing()
}

func (e expectation) allows(text string, s *Scope) bool {
	for _, one := range e.values {
		switch {
		case one.name != "":
			if wanted := one.name.in(s); wanted != "" && strings.EqualFold(wanted, text) {
				return true
			}
		case one.nothing:
			if text == "" {
				return true
			}
		case one.pattern.Matches(strings.ToLower(text)):
			return true
		}
	}
	return false
}

func (e expectation) allowsNothing() bool {
	for _, one := range e.values {
		if one.nothing {
			return true
		}
	}
	return false
}

func hasValue(path *Path, body any, s *Scope) bool {
	var room room
	for _, value := range path.find(body, s, &room).values {
		if !forms.SaysNothing(value) {
			return true
		}
	}
	return false
}

func containsFold(list []string, text string) bool {
	for _, candidate := range list {
		if strings.EqualFold(candidate, text) {
			return true
		}
	}
	return false
}

// conditionKeys are the keys of a condition, to be read together with others
// of what the condition is for.
func (r *reader) conditionKeys(c *Condition) map[string]func(ast.Node) {
	return map[string]func(ast.Node){
		"step":   func(n ast.Node) { c.steps = r.texts(n) },
		"status": func(n ast.Node) { c.status = r.statuses(n) },
		"header": func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				c.header = append(c.header, expectation{header: http.CanonicalHeaderKey(pair.key), values: r.allowed(pair.value)})
			}
		},
		"type": func(n ast.Node) { c.types = r.texts(n) },
		"where": func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				c.where = append(c.where, expectation{path: r.path(pair.at), values: r.allowed(pair.value)})
			}
		},
		"any":  func(n ast.Node) { c.any = r.paths(n) },
		"all":  func(n ast.Node) { c.all = r.paths(n) },
		"none": func(n ast.Node) { c.none = r.paths(n) },
		"text": func(n ast.Node) {
			for _, text := range r.texts(n) {
				c.texts = append(c.texts, strings.ToLower(text))
			}
		},
		"matches": func(n ast.Node) { c.pattern = r.pattern(n) },
		"when":    func(n ast.Node) { c.when = r.expression(n, true) },
	}
}

func (r *reader) condition(node ast.Node) *Condition {
	condition := &Condition{}
	r.fields(node, r.conditionKeys(condition))
	return condition
}

// allowed reads the values that a field may have; null stands for an empty or
// missing one.
func (r *reader) allowed(node ast.Node) []allowed {
	if _, null := r.resolve(node).(*ast.NullNode); null {
		return []allowed{{nothing: true}}
	}
	var values []allowed
	for _, item := range r.items(node) {
		if _, null := item.(*ast.NullNode); null {
			values = append(values, allowed{nothing: true})
			continue
		}
		text := r.scalar(item)
		if name, is := strings.CutPrefix(text, "$"); is {
			r.checkVariables(item, []variable{variable(name)})
			values = append(values, allowed{name: variable(name)})
			continue
		}
		values = append(values, allowed{pattern: forms.NewPattern(strings.ToLower(text))})
	}
	return values
}

func (r *reader) pattern(node ast.Node) *regexp.Regexp {
	compiled, err := regexp.Compile(r.text(node))
	if err != nil {
		r.problem(node, "pattern: %v", err)
		return nil
	}
	return compiled
}

// statuses reads status codes: 404, 5xx or 500-504, one or several.
func (r *reader) statuses(node ast.Node) []statusRange {
	var ranges []statusRange
	for _, item := range r.items(node) {
		text := r.scalar(item)
		from, to, isRange := strings.Cut(strings.Replace(text, "xx", "00-"+strings.TrimSuffix(text, "xx")+"99", 1), "-")
		if !isRange {
			to = from
		}
		low, err1 := strconv.Atoi(from)
		high, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || low < 100 || high > 599 || low > high {
			r.problem(item, "%q is not a status such as 404, 5xx or 500-504", text)
			continue
		}
		ranges = append(ranges, statusRange{low, high})
	}
	return ranges
}
