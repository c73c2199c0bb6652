package engine

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// Rule says what an answer of a kind means: an outcome, or that the look-up
// goes on with another step.
type Rule struct {
	// Line of the definition; 0: of none.
	Line    int
	Outcome enrich.Outcome // Pending when the look-up goes on

	condition Condition
	anyBody   bool // the body need not be readable
	next      string
	capture   []capture
	keep      bool // facts in this answer count although it is no hit
	pause     time.Duration
	charge    *float64
	read      bool  // the charge, from the answer
	step      *Step // next, resolved
}

// capture keeps a value of the answer for later steps.
type capture struct {
	name string
	path Path
}

// objection holds where a definition has no rule of its own for status 451, a
// refusal for legal reasons (RFC 7725).
var objection = &Rule{
	Outcome: enrich.Suppressed, anyBody: true,
	condition: Condition{status: []statusRange{{http.StatusUnavailableForLegalReasons, http.StatusUnavailableForLegalReasons}}},
}

// Origin says where the rule comes from.
func (r *Rule) Origin() string {
	if r == objection {
		return "RFC 7725"
	}
	return fmt.Sprintf("line %d of the definition", r.Line)
}

// String names the rule for messages.
func (r *Rule) String() string {
	if r.next != "" {
		return "next: " + r.next
	}
	return string(r.Outcome)
}

// needsBody tells whether the rule believes what the body says, so that it has
// to be readable.
func (r *Rule) needsBody() bool {
	return !r.anyBody && (r.Outcome.Authoritative() || r.Outcome == enrich.Pending)
}

func (r *Rule) matches(a *Answer, s *Scope, hit *Condition) bool {
	if r.needsBody() && !a.readable || !r.condition.holds(a, s) {
		return false
	}
	if r.Outcome == enrich.Hit && !hit.holds(a, s) {
		return false
	}
	for _, capture := range r.capture {
		if capture.path.textOf(a.body, s) == "" {
			return false
		}
	}
	return true
}

// captured returns what earlier answers said together with what this one says.
func (r *Rule) captured(a *Answer, s *Scope) map[string]string {
	captured := maps.Clone(s.Captured)
	if captured == nil {
		captured = map[string]string{}
	}
	for _, capture := range r.capture {
		captured[capture.name] = strings.Clone(capture.path.textOf(a.body, s))
	}
	return captured
}

// rules reads a list of outcome rules.
func (r *reader) rules(node ast.Node) []*Rule {
	var rules []*Rule
	for _, item := range r.items(node) {
		rule := &Rule{Line: lineOf(item)}
		keys := r.conditionKeys(&rule.condition)
		keys["outcome"] = func(n ast.Node) { rule.Outcome = r.outcome(n, enrich.Outcomes) }
		keys["next"] = func(n ast.Node) { rule.next = r.text(n) }
		keys["keep"] = func(n ast.Node) { rule.keep = r.boolean(n) }
		keys["any_body"] = func(n ast.Node) { rule.anyBody = r.boolean(n) }
		keys["pause"] = func(n ast.Node) { rule.pause = r.duration(n) }
		keys["charge"] = func(n ast.Node) {
			if rule.read = r.scalar(n) == "read"; !rule.read {
				credits := r.float(n)
				rule.charge = &credits
			}
		}
		keys["capture"] = func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				rule.capture = append(rule.capture, capture{pair.key, r.path(pair.value)})
				r.declare(pair.at, pair.key)
			}
		}
		r.fields(item, keys)
		switch {
		case rule.Outcome == "" && rule.next == "":
			r.problem(item, "a rule needs an outcome, or the next step")
		case rule.next != "" && rule.Outcome != "" && rule.Outcome != enrich.Pending:
			r.problem(item, "a rule with a next step has no outcome of its own")
		case rule.next != "":
			rule.Outcome = enrich.Pending
		}
		if rule.pause > 0 && !slices.Contains([]enrich.Outcome{enrich.RateLimited, enrich.Blocked, enrich.QuotaExhausted}, rule.Outcome) {
			r.problem(item, "only rate_limited, blocked and quota_exhausted close the provider for a time")
		}
		if last := len(rules) - 1; last >= 0 && rules[last].isOpen() {
			r.problem(item, "this rule is never tried: that of line %d holds for every answer", rules[last].Line)
			continue
		}
		rules = append(rules, rule)
	}
	return rules
}

// isOpen tells whether the rule holds for every answer.
func (r *Rule) isOpen() bool {
	return !r.needsBody() && len(r.capture) == 0 && r.condition.isOpen()
}

func (r *reader) outcome(node ast.Node, among []enrich.Outcome) enrich.Outcome {
	outcome := enrich.Outcome(r.scalar(node))
	if !slices.Contains(among, outcome) {
		names := make([]string, len(among))
		for i, one := range among {
			names[i] = string(one)
		}
		r.problem(node, "%q must be one of: %s", outcome, strings.Join(names, ", "))
	}
	return outcome
}

func (r *reader) outcomes(node ast.Node, among []enrich.Outcome) []enrich.Outcome {
	var outcomes []enrich.Outcome
	for _, item := range r.items(node) {
		outcomes = append(outcomes, r.outcome(item, among))
	}
	return outcomes
}
