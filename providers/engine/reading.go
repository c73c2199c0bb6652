package engine

import (
	"net/http"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/forms"
)

// Reading is what an answer means.
type Reading struct {
	Outcome enrich.Outcome
	// Rule that decided.
	Rule *Rule
	// Found values of wanted attributes, in their order and without source,
	// time and price, and the wanted attributes that the vendor has finished
	// with and has not.
	Found  []enrich.Fact
	Absent []enrich.Attribute
	// Drift names mapped attributes whose field vanished or changed.
	Drift []enrich.Attribute
	// Next is the step that goes on, nil at the end, with what it may refer
	// to.
	Next     *Step
	Captured map[string]string
	// Wait is the vendor's hint, nil without one.
	Wait *time.Duration
	// Closes is set when the answer closes the provider for Wait, or for the
	// definition's own pause.
	Closes *time.Duration
	Charge enrich.Charge
	Limits []enrich.LimitState
}

// Pricing overrides what the definition says of an account.
type Pricing struct {
	// Credit is the price of a credit by operation; missing: the
	// definition's.
	Credit map[string]float64
	// Plan whose limits hold.
	Plan string
}

// credit is the price of a credit for the call.
func (p Pricing) credit(c *Call) float64 {
	if price, own := p.Credit[c.Operation]; own {
		return price
	}
	return c.charge.price
}

// Read interprets an answer to the step.
func (s *Step) Read(status int, header http.Header, raw []byte, scope *Scope, pricing Pricing) Reading {
	answer := newAnswer(status, header, raw, s)
	answer.record = s.recordIn(answer.body, scope)
	rule := s.decide(answer, scope)
	reading := Reading{Outcome: rule.Outcome, Rule: rule}

	mapper := &mapper{answer: answer, scope: scope, step: s}
	switch {
	case rule.Outcome == enrich.Hit || rule.Outcome == enrich.Partial:
		mapper.fill(&reading)
	case rule.keep:
		mapper.fill(&reading)
		reading.Outcome = rule.Outcome
	}
	if rule.Outcome == enrich.Miss {
		reading.Absent = s.answerable(scope.Wanted, reading.Found)
	}
	if rule.Outcome == enrich.Pending {
		reading.Next, reading.Captured = rule.step, rule.captured(answer, scope)
	}
	s.addWait(&reading, answer, scope)
	s.addCharge(&reading, answer, scope, pricing)
	for _, limit := range s.call.definition.limitsOf(pricing.Plan) {
		if limit.counts(s.Operation) {
			if state, told := limit.state(answer, scope); told {
				reading.Limits = append(reading.Limits, state)
			}
		}
	}
	return reading
}

// recordIn finds the record in a body: what the first path that leads to
// something leads to.
func (s *Step) recordIn(body any, scope *Scope) any {
	var record any = body
	for _, path := range s.record {
		if record = path.first(body, scope); !forms.SaysNothing(record) {
			break
		}
	}
	return record
}

func (s *Step) decide(a *Answer, scope *Scope) *Rule {
	for i, rule := range s.rules {
		if !rule.matches(a, scope, s.hit) {
			continue
		}
		if isLast := i == len(s.rules)-1; isLast && a.Status == objection.condition.status[0].from {
			return objection
		}
		return rule
	}
	panic("engine: the last rule holds for every answer") // checked when the definition was loaded
}

// answerable are the wanted attributes about the call's own subject that the
// call maps, without those found. What a person's answer lacks about a company
// proves nothing.
func (s *Step) answerable(wanted []enrich.Attribute, found []enrich.Fact) []enrich.Attribute {
	var answerable []enrich.Attribute
	for _, attribute := range wanted {
		isFound := slices.ContainsFunc(found, func(f enrich.Fact) bool { return f.Attribute == attribute })
		if !isFound && attribute.Kind() == s.call.Kind && s.call.CanSupply(attribute) {
			answerable = append(answerable, attribute)
		}
	}
	return answerable
}

// fill maps every wanted attribute and makes a hit that lacks one partial.
func (m *mapper) fill(reading *Reading) {
	reading.Found = make([]enrich.Fact, 0, len(m.scope.Wanted))
	for _, attribute := range m.scope.Wanted {
		result, supplied := m.attribute(attribute)
		if !supplied {
			continue
		}
		if result.drift != "" && !slices.Contains(reading.Drift, result.drift) {
			reading.Drift = append(reading.Drift, result.drift)
		}
		switch {
		case result.state == present:
			reading.Found = append(reading.Found, result.fact())
			continue
		case result.state == absent && attribute.Kind() == m.step.call.Kind:
			reading.Absent = append(reading.Absent, attribute)
		}
		reading.Outcome = enrich.Partial
	}
}

func (s *Step) addWait(reading *Reading, a *Answer, scope *Scope) {
	definition := s.call.definition
	for _, outcome := range hintedOutcomes {
		if outcome == reading.Outcome && !reading.Rule.goesOnAtOnce() {
			reading.Wait = waitOf(definition.hints, a, scope, outcome, definition.longestPause)
		}
	}
	switch reading.Outcome {
	case enrich.RateLimited, enrich.Blocked, enrich.QuotaExhausted:
		if reading.Closes = reading.Wait; reading.Closes == nil && reading.Rule.pause > 0 {
			pause := reading.Rule.pause
			reading.Closes = &pause
		}
	}
}

// goesOnAtOnce tells whether the next step is no poll, so that nothing is
// waited for.
func (r *Rule) goesOnAtOnce() bool { return r.step != nil && r.step.Poll == nil }

func (s *Step) addCharge(reading *Reading, a *Answer, scope *Scope, pricing Pricing) {
	call := s.call
	price := pricing.credit(call)
	switch {
	case reading.Outcome == enrich.Malformed || reading.Outcome == enrich.Timeout:
		return // nobody knows
	case reading.Rule.charge != nil:
		reading.Charge = money(*reading.Rule.charge, price)
	case reading.Rule.read:
		if told, ok := call.charge.told(a, scope); ok {
			reading.Charge = money(told, price)
		}
	default:
		if credits, known := call.charge.of(a, scope, reading.Outcome, reading.Rule.goesOnAtOnce(), reading.Found); known {
			reading.Charge = money(credits, price)
		}
	}
}

func (l limit) counts(operation string) bool {
	return len(l.Operations) == 0 || containsFold(l.Operations, operation)
}
