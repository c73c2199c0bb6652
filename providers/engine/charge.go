package engine

import (
	"math"
	"strconv"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/forms"
)

// charge is the vendor's billing rule, in credits.
type charge struct {
	// price of a credit in the currency's units; negative: not published.
	price float64
	// by outcome; an outcome that is not listed is free.
	by map[enrich.Outcome]float64
	// next is charged by an answer after which the look-up goes on.
	next float64
	// attributes cost more when they were found.
	attributes map[enrich.Attribute]float64
	// minimum is charged for every answer that is charged at all by outcome,
	// or would be free.
	minimum float64
	// free tells that the vendor gave this answer for nothing.
	free *Condition
	// header and path are where the answer says what it cost.
	header string
	path   *Path
}

// noPrice marks a credit whose price is not published.
const noPrice = -1

// finished are the outcomes of a look-up that the vendor did.
func finished(outcome enrich.Outcome) bool { return outcome.Authoritative() }

// of returns what an answer cost, in credits, and false when only the answer
// could have told and does not.
func (c *charge) of(a *Answer, s *Scope, outcome enrich.Outcome, goesOn bool, found []enrich.Fact) (float64, bool) {
	if goesOn {
		if c.next == 0 {
			return 0, true
		}
		if told, ok := c.told(a, s); ok {
			return told, true
		}
		return c.next, true
	}
	if !finished(outcome) {
		return c.by[outcome], true
	}
	if c.free != nil && c.free.holds(a, s) {
		return 0, true
	}
	if told, ok := c.told(a, s); ok {
		return told, true
	}
	if c.isReadOnly() {
		return 0, false
	}
	credits, listed := c.by[outcome]
	if outcome == enrich.Partial && !listed {
		credits = c.by[enrich.Hit]
	}
	if len(c.attributes) > 0 {
		for i := range found {
			credits += c.attributes[found[i].Attribute]
		}
	}
	return max(credits, c.minimum), true
}

// isReadOnly tells whether the rule leaves it to the answers to say what they
// cost.
func (c *charge) isReadOnly() bool {
	return (c.header != "" || c.path != nil) && len(c.by) == 0 && c.minimum == 0
}

// told reads what the answer says that it cost.
func (c *charge) told(a *Answer, s *Scope) (float64, bool) {
	var text string
	switch {
	case c.header != "":
		text = a.Header.Get(c.header)
	case c.path != nil:
		text, _ = forms.ScalarText(c.path.first(a.body, s))
	default:
		return 0, false
	}
	credits, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(credits) || credits < 0 || credits > 1e6 {
		return 0, false
	}
	return credits, true
}

// money turns credits into a charge. Nothing costs nothing, whatever the price.
func money(credits, price float64) enrich.Charge {
	switch {
	case credits == 0:
		return enrich.KnownCharge(0)
	case price < 0:
		return enrich.Charge{}
	default:
		return enrich.KnownCharge(enrich.Micros(math.Round(credits * price * 1e6)))
	}
}

// charge reads the billing rule of a call; price is the definition's.
func (r *reader) charge(node ast.Node, price float64) *charge {
	c := &charge{price: price, by: map[enrich.Outcome]float64{}, attributes: map[enrich.Attribute]float64{}}
	if node == nil {
		return c
	}
	keys := map[string]func(ast.Node){
		"credit":  func(n ast.Node) { c.price = r.float(n) },
		"next":    func(n ast.Node) { c.next = r.float(n) },
		"minimum": func(n ast.Node) { c.minimum = r.float(n) },
		"free":    func(n ast.Node) { c.free = r.condition(n) },
		"attributes": func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				c.attributes[r.attribute(pair.at)] = r.float(pair.value)
			}
		},
		"read": func(n ast.Node) {
			r.fields(n, map[string]func(ast.Node){
				"header": func(n ast.Node) { c.header = r.header(n) },
				"body":   func(n ast.Node) { path := r.path(n); c.path = &path },
			})
		},
	}
	for _, outcome := range enrich.Outcomes {
		keys[string(outcome)] = func(n ast.Node) { c.by[outcome] = r.float(n) }
	}
	r.fields(node, keys)
	return c
}
