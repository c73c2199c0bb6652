package engine

import (
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// part is a piece of a request: a constant, a template, a list, an object, or
// a choice among such. What turns out empty is left out, for vendors match
// worse when parameters are blank.
type part interface {
	// build returns the value to send, or nil to leave it out.
	build(*Scope) any
}

type constant struct{ value any }

func (c constant) build(*Scope) any { return c.value }

func (t template) build(s *Scope) any {
	if t.text == "$fields" {
		if len(s.Fields) == 0 {
			return nil
		}
		return s.Fields
	}
	if filled := t.fill(s, nil); filled != "" {
		return filled
	}
	return nil
}

type listPart []part

func (l listPart) build(s *Scope) any {
	var list []any
	for _, part := range l {
		if value := part.build(s); value != nil {
			list = append(list, value)
		}
	}
	if list == nil {
		return nil
	}
	return list
}

type objectPart []namedPart

type namedPart struct {
	name string
	part part
}

func (o objectPart) build(s *Scope) any {
	object := map[string]any{}
	for _, member := range o {
		if value := member.part.build(s); value != nil {
			object[member.name] = value
		}
	}
	if len(object) == 0 {
		return nil
	}
	return object
}

// choicePart is sent when any of the attributes is wanted and all of the
// variables are set.
type choicePart struct {
	wanted       []enrich.Attribute
	given        []variable
	then, orElse part
}

func (c choicePart) build(s *Scope) any {
	chosen := c.then
	if len(c.wanted) > 0 && !s.wants(c.wanted) {
		chosen = c.orElse
	}
	for _, name := range c.given {
		if name.in(s) == "" {
			chosen = c.orElse
		}
	}
	if chosen == nil {
		return nil
	}
	return chosen.build(s)
}

// part reads a piece of a request. A mapping with the keys $wanted or $given is
// a choice.
func (r *reader) part(node ast.Node) part {
	switch at := r.resolve(node).(type) {
	case *ast.StringNode, *ast.LiteralNode:
		return r.template(at)
	case *ast.IntegerNode:
		return constant{r.whole(at)}
	case *ast.FloatNode:
		number, _ := strconv.ParseFloat(at.GetToken().Value, 64)
		return constant{number}
	case *ast.BoolNode:
		return constant{at.Value}
	case *ast.SequenceNode:
		var list listPart
		for _, item := range r.items(at) {
			list = append(list, r.part(item))
		}
		return list
	case *ast.NullNode:
		return constant{}
	default:
		pairs := r.pairs(at)
		for _, pair := range pairs {
			if pair.key == "$wanted" || pair.key == "$given" {
				return r.choice(at)
			}
		}
		return r.object(pairs)
	}
}

func (r *reader) object(pairs []pair) objectPart {
	var object objectPart
	for _, pair := range pairs {
		object = append(object, namedPart{pair.key, r.part(pair.value)})
	}
	return object
}

func (r *reader) choice(node ast.Node) choicePart {
	var choice choicePart
	r.fields(node, map[string]func(ast.Node){
		"$wanted": func(n ast.Node) { choice.wanted = r.attributes(n) },
		"$given": func(n ast.Node) {
			for _, item := range r.items(n) {
				choice.given = append(choice.given, r.variable(item))
			}
		},
		"$then": func(n ast.Node) { choice.then = r.part(n) },
		"$else": func(n ast.Node) { choice.orElse = r.part(n) },
	})
	if choice.then == nil {
		r.problem(node, "a choice needs $then")
	}
	return choice
}

// attributes reads names of the contract's attributes.
func (r *reader) attributes(node ast.Node) []enrich.Attribute {
	var attributes []enrich.Attribute
	for _, item := range r.items(node) {
		attributes = append(attributes, r.attribute(item))
	}
	return attributes
}

func (r *reader) attribute(node ast.Node) enrich.Attribute {
	name := enrich.Attribute(r.scalar(node))
	if _, known := enrich.SpecOf(name); !known {
		r.problem(node, "there is no attribute %q", name)
	}
	return name
}

// template reads a text with variables, which are checked once all captures
// are known.
func (r *reader) template(node ast.Node) template {
	parsed, err := parseTemplate(r.scalar(node))
	if err != nil {
		r.problem(node, "%v", err)
	}
	r.checkVariables(node, parsed.variables())
	return parsed
}

// path reads a path into an answer.
func (r *reader) path(node ast.Node) Path {
	parsed, err := parsePath(r.scalar(node))
	if err != nil {
		r.problem(node, "%v", err)
	}
	r.checkVariables(node, parsed.variables())
	return parsed
}

func (r *reader) paths(node ast.Node) []Path {
	var paths []Path
	for _, item := range r.items(node) {
		paths = append(paths, r.path(item))
	}
	return paths
}

func (r *reader) variable(node ast.Node) variable {
	name := variable(r.text(node))
	r.checkVariables(node, []variable{name})
	return name
}

func (r *reader) expression(node ast.Node, condition bool) *Expression {
	compiled, err := compileExpression(r.text(node), condition)
	if err != nil {
		r.problem(node, "%v", err)
		return nil
	}
	compiled.line = lineOf(node)
	return &compiled
}
