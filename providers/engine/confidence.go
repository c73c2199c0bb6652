package engine

import (
	"math"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/providers/forms"
)

// confidence is how sure the vendor is of a value, from 0 to 1: fixed, or read
// from the answer on the vendor's own scale.
type confidence struct {
	fixed      float64 // also where the answer does not say
	path       *Path   // in the record
	body       *Path   // in the body
	expression *Expression
	divide     float64
	words      map[string]float64 // in lower case
}

// defaultConfidence holds where a definition says nothing.
const defaultConfidence = 0.7

func (c *confidence) of(m *mapper) float64 {
	if c == nil {
		return defaultConfidence
	}
	var raw any
	switch {
	case c.path != nil:
		raw = c.path.first(m.answer.record, m.scope)
	case c.body != nil:
		raw = c.body.first(m.answer.body, m.scope)
	case c.expression != nil:
		raw, _ = c.expression.value(m.answer.view(m.scope))
	}
	text, ok := forms.ScalarText(raw)
	if !ok {
		return c.fixed
	}
	if sure, known := c.words[strings.ToLower(strings.TrimSpace(text))]; known {
		return sure
	}
	sure, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(sure) {
		return c.fixed
	}
	if c.divide > 0 {
		sure /= c.divide
	}
	return max(0, min(sure, 1))
}

// confidence reads a number, or how to read one from the answer.
func (r *reader) confidence(node ast.Node) *confidence {
	c := &confidence{fixed: defaultConfidence}
	switch r.resolve(node).(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		c.fixed = r.share(node)
		return c
	}
	r.fields(node, map[string]func(ast.Node){
		"path": func(n ast.Node) { path := r.path(n); c.path = &path },
		"body": func(n ast.Node) { path := r.path(n); c.body = &path },
		"expr": func(n ast.Node) { c.expression = r.expression(n, false) },
		"divide": func(n ast.Node) {
			if c.divide = r.float(n); c.divide == 0 {
				r.problem(n, "must be more than 0")
			}
		},
		"words": func(n ast.Node) {
			c.words = map[string]float64{}
			for _, pair := range r.pairs(n) {
				c.words[strings.ToLower(pair.key)] = r.share(pair.value)
			}
		},
		"else": func(n ast.Node) { c.fixed = r.share(n) },
	})
	return c
}

// share reads a number from 0 to 1.
func (r *reader) share(node ast.Node) float64 {
	number := r.float(node)
	if number > 1 {
		r.problem(node, "confidence runs from 0 to 1")
		return 1
	}
	return number
}
