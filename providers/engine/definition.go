// Package engine reads definitions of vendors and interprets vendors' answers
// by them. It makes no calls: a [Definition] says how a request looks and what
// an answer means, and everything here is a pure function of both.
//
//	Definition
//	  Call        one kind of look-up: person, company, verify
//	    Step      one exchange of it: the request, and the rules for its answer
//	      Rule    the first that matches gives the outcome, or the next step
//	    mapping   where each attribute stands in the record
//
// A definition is read and checked as a whole; [Load] reports everything that
// is wrong with it, with lines. How one is written is in docs/vendors.md.
package engine

import (
	"crypto/sha256"
	"net/url"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Definition is how to talk to one vendor. It is never changed after it was
// loaded, so it is safe for concurrent use.
type Definition struct {
	// Name is the definition's, also of its file.
	Name  string
	Title string
	// AsOf is the day of the facts, and Sources where they come from.
	AsOf    string
	Sources []string
	// VerifiedLive tells whether a real account was tried, and Experimental
	// that facts are thin.
	VerifiedLive bool
	Experimental bool
	// Currency of the prices, "USD".
	Currency string
	// Timeout of one exchange, and MaxAnswer the bytes of an answer.
	Timeout   time.Duration
	MaxAnswer int64

	file         string
	digest       [sha256.Size]byte // of the file's text
	baseURL      *url.URL
	secrets      []string
	settings     map[string]string // defaults
	auth         auth
	calls        []*Call
	rules        []*Rule // for the answers of all calls
	hints        []hint
	longestPause time.Duration
	limits       []limit
	plans        map[string][]limit
	price        float64
	money        string
	missing      missing
	confidence   *confidence
	contentTypes []string
}

// Bounds and defaults of a definition.
const (
	defaultTimeout   = 10 * time.Second
	defaultMaxAnswer = 1 << 20
	longestPause     = 24 * time.Hour
)

// Call is one kind of look-up that the vendor offers.
type Call struct {
	// Operation is the call's name, as limits count it.
	Operation string
	// Kind of subject that is looked up.
	Kind enrich.SubjectKind

	definition *Definition
	needs      []variable
	first      *Step
	steps      []*Step
	charge     *charge
	fields     map[enrich.Attribute][]string
	missing    missing
}

// Step is one exchange of a call.
type Step struct {
	// Name of the step, for the first one the call's.
	Name string
	// Operation that limits count it as.
	Operation string
	// Poll is set when the step asks for a job that may still be running.
	Poll *Poll

	call     *Call
	request  request
	record   []Path // the first that leads to an object or list counts
	hit      *Condition
	rules    []*Rule
	mappings []*mapping
	byName   map[enrich.Attribute]*mapping
	base     *url.URL
	line     int
}

// Poll is how to ask for a job.
type Poll struct {
	// First is the wait before the first poll, Every the wait between polls.
	First, Every time.Duration
	// Stretch multiplies the wait after each poll, up to Longest.
	Stretch float64
	Longest time.Duration
	// MaxAge is how long after the submit the job is worth asking for.
	MaxAge time.Duration
}

// Delay is the definition's own wait before a poll, after so many polls of the
// same job.
func (p *Poll) Delay(polls int) time.Duration {
	if polls == 0 {
		return p.First
	}
	delay := p.Every
	for range min(polls-1, 50) {
		delay = min(time.Duration(float64(delay)*p.Stretch), p.Longest)
	}
	return delay
}

// Calls returns the calls in the order of the definition.
func (d *Definition) Calls() []*Call { return d.calls }

// Call returns the call of that operation, or nil.
func (d *Definition) Call(operation string) *Call {
	for _, call := range d.calls {
		if call.Operation == operation {
			return call
		}
	}
	return nil
}

// Secrets names the credentials that an account needs.
func (d *Definition) Secrets() []string { return d.secrets }

// Settings returns the default settings by name.
func (d *Definition) Settings() map[string]string { return d.settings }

// Plans names the vendor's plans that have limits of their own.
func (d *Definition) Plans() []string {
	var names []string
	for name := range d.plans {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Limits returns the published limits of a plan; "" is the definition's
// default.
func (d *Definition) Limits(plan string) []enrich.Limit {
	var limits []enrich.Limit
	for _, limit := range d.limitsOf(plan) {
		limits = append(limits, limit.Limit)
	}
	return limits
}

func (d *Definition) limitsOf(plan string) []limit {
	if limits, known := d.plans[plan]; known {
		return limits
	}
	return d.limits
}

// Secure tells whether all calls go over TLS.
func (d *Definition) Secure() bool {
	for _, call := range d.calls {
		for _, step := range call.steps {
			if step.base.Scheme != "https" {
				return false
			}
		}
	}
	return d.baseURL.Scheme == "https"
}

// First returns the step that begins the call.
func (c *Call) First() *Step { return c.first }

// Step returns the step of that name, or nil.
func (c *Call) Step(name string) *Step {
	for _, step := range c.steps {
		if step.Name == name {
			return step
		}
	}
	return nil
}

// Offered tells whether everything that the call needs is set.
func (c *Call) Offered(s *Scope) bool {
	return !slices.ContainsFunc(c.needs, func(name variable) bool { return name.in(s) == "" })
}

// Supplies returns the attributes that the call can bring, in the contract's
// order.
func (c *Call) Supplies() []enrich.Attribute {
	var supplies []enrich.Attribute
	for _, spec := range enrich.Attributes() {
		if c.CanSupply(spec.Attribute) {
			supplies = append(supplies, spec.Attribute)
		}
	}
	return supplies
}

// CanSupply tells whether the call maps the attribute in any of its steps.
func (c *Call) CanSupply(a enrich.Attribute) bool {
	return slices.ContainsFunc(c.steps, func(step *Step) bool { return step.supplies(a) })
}

// Price is what a hit costs without any attribute's extra; unknown when the
// price of a credit is.
func (c *Call) Price(pricing Pricing) enrich.Charge {
	return money(max(c.charge.by[enrich.Hit]+c.charge.next, c.charge.minimum), pricing.credit(c))
}

// Extra is what an attribute adds to the price when it is found.
func (c *Call) Extra(a enrich.Attribute, pricing Pricing) enrich.Micros {
	return money(c.charge.attributes[a], pricing.credit(c)).Micros
}

// Confidence is what the definition says of an attribute before any answer.
func (c *Call) Confidence(a enrich.Attribute) float64 {
	for _, step := range c.steps {
		if mapping := step.byName[a]; mapping != nil {
			if own := mapping.sources[0].confidence; own != nil {
				return own.fixed
			}
			if c.definition.confidence != nil {
				return c.definition.confidence.fixed
			}
		}
	}
	return defaultConfidence
}

// mapping returns how the step maps an attribute, or nil.
func (s *Step) mapping(a enrich.Attribute) *mapping { return s.byName[a] }

// The range of employees follows from their number, so who sends one supplies
// the other.
const (
	employeeCount enrich.Attribute = "company.employee_count"
	employeeRange enrich.Attribute = "company.employee_range"
)

func (s *Step) supplies(a enrich.Attribute) bool {
	return s.byName[a] != nil || a == employeeRange && s.byName[employeeCount] != nil
}

// File is the file that the definition was read from.
func (d *Definition) File() string { return d.file }

// Same tells whether both were read from the same text of the same file.
func (d *Definition) Same(other *Definition) bool {
	return d.file == other.file && d.digest == other.digest
}

// Rules returns all rules of all calls, each once.
func (d *Definition) Rules() []*Rule {
	var rules []*Rule
	for _, call := range d.calls {
		for _, step := range call.steps {
			for _, rule := range step.rules {
				if !slices.ContainsFunc(rules, func(other *Rule) bool { return other.Line == rule.Line }) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}

// Steps returns the steps of the call, the first one first.
func (c *Call) Steps() []*Step { return c.steps }
