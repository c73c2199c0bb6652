package engine

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// Load reads and checks a definition. The error is of type [Problems] and names
// everything that is wrong.
func Load(file string, data []byte) (*Definition, error) {
	r, root := newReader(file, data)
	if root == nil {
		return nil, r.problems
	}
	definition := r.definition(root)
	for _, check := range r.later {
		check()
	}
	r.checkSecrets()
	if len(r.problems) > 0 {
		return nil, r.problems.sorted()
	}
	definition.digest = sha256.Sum256(data)
	return definition, nil
}

var validName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

func (r *reader) definition(root ast.Node) *Definition {
	d := &Definition{
		file: r.file, Currency: "USD", Timeout: defaultTimeout, MaxAnswer: defaultMaxAnswer, longestPause: longestPause,
		price: noPrice, missing: missingIsDrift, settings: map[string]string{}, plans: map[string][]limit{},
	}
	r.about = d
	// Calls come last: they inherit from what stands at the top.
	var calls ast.Node
	r.fields(root, map[string]func(ast.Node){
		"name":          func(n ast.Node) { d.Name = r.name(n) },
		"title":         func(n ast.Node) { d.Title = r.text(n) },
		"as_of":         func(n ast.Node) { d.AsOf = r.date(n) },
		"sources":       func(n ast.Node) { d.Sources = r.texts(n) },
		"verified_live": func(n ast.Node) { d.VerifiedLive = r.boolean(n) },
		"experimental":  func(n ast.Node) { d.Experimental = r.boolean(n) },
		"base_url":      func(n ast.Node) { d.baseURL = r.baseURL(n) },
		"secrets":       func(n ast.Node) { d.secrets, r.secrets = r.texts(n), r.items(n) },
		"settings": func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				d.settings[pair.key] = r.scalar(pair.value)
			}
		},
		"auth":          func(n ast.Node) { d.auth = r.auth(n) },
		"timeout":       func(n ast.Node) { d.Timeout = r.duration(n) },
		"max_answer":    func(n ast.Node) { d.MaxAnswer = r.whole(n) },
		"content_types": func(n ast.Node) { d.contentTypes = r.texts(n) },
		"currency":      func(n ast.Node) { d.Currency = r.currency(n) },
		"credit":        func(n ast.Node) { d.price = r.float(n) },
		"money":         func(n ast.Node) { d.money = r.currency(n) },
		"missing":       func(n ast.Node) { d.missing = r.missing(n) },
		"confidence":    func(n ast.Node) { d.confidence = r.confidence(n) },
		"longest_pause": func(n ast.Node) { d.longestPause = r.duration(n) },
		"waits":         func(n ast.Node) { d.hints = r.hints(n) },
		"limits":        func(n ast.Node) { d.limits = r.limits(n) },
		"plans": func(n ast.Node) {
			for _, pair := range r.pairs(n) {
				d.plans[pair.key] = r.limits(pair.value)
			}
		},
		"outcomes": func(n ast.Node) { d.rules = r.rules(n) },
		"calls":    func(n ast.Node) { calls = n },
	})
	r.required(root, d, calls)
	if calls != nil {
		for _, pair := range r.pairs(calls) {
			d.calls = append(d.calls, r.call(pair, d))
		}
	}
	return d
}

func (r *reader) required(root ast.Node, d *Definition, calls ast.Node) {
	for name, missing := range map[string]bool{
		"name": d.Name == "", "title": d.Title == "", "as_of": d.AsOf == "", "base_url": d.baseURL == nil, "calls": calls == nil,
	} {
		if missing {
			r.problem(root, "%s is missing", name)
		}
	}
	if d.MaxAnswer == 0 || d.Timeout == 0 || d.longestPause == 0 {
		r.problem(root, "max_answer, timeout and longest_pause must be more than 0")
	}
	if d.baseURL == nil {
		d.baseURL = &url.URL{}
	}
}

func (r *reader) call(at pair, d *Definition) *Call {
	call := &Call{Operation: at.key, definition: d, missing: d.missing, fields: map[enrich.Attribute][]string{}}
	first := &Step{Name: at.key, Operation: at.key, call: call, base: d.baseURL, hit: &Condition{}, line: lineOf(at.at)}
	call.first, call.steps = first, []*Step{first}
	r.inCall = call
	defer func() { r.inCall = nil }()
	if !validName.MatchString(at.key) {
		r.problem(at.at, "%q is not a name of small letters", at.key)
	}
	var steps, charge ast.Node
	asks := ""
	keys := r.stepKeys(first)
	keys["asks"] = func(n ast.Node) { asks = r.oneOf(n, "email", "domain") }
	keys["base_url"] = func(n ast.Node) { first.base = r.baseURL(n) }
	keys["needs"] = func(n ast.Node) {
		for _, item := range r.items(n) {
			call.needs = append(call.needs, r.variable(item))
		}
	}
	keys["fields"] = func(n ast.Node) {
		for _, pair := range r.pairs(n) {
			call.fields[r.attribute(pair.at)] = r.texts(pair.value)
		}
	}
	keys["missing"] = func(n ast.Node) { call.missing = r.missing(n) }
	keys["charge"] = func(n ast.Node) { charge = n }
	keys["steps"] = func(n ast.Node) { steps = n }
	r.fields(at.value, keys)

	if asks == "" {
		r.problem(at.at, "%s must say what it asks with: asks: email or asks: domain", at.key)
	}
	if asks == "domain" {
		call.Kind = enrich.Company
	}
	call.charge = r.charge(charge, d.price)
	if steps != nil {
		for _, pair := range r.pairs(steps) {
			call.steps = append(call.steps, r.step(pair, first))
		}
	}
	r.finish(at.at, call)
	return call
}

// step reads a later step, which has the record, hit and mapping of the first
// unless it has its own.
func (r *reader) step(at pair, first *Step) *Step {
	step := &Step{Name: at.key, call: first.call, base: first.base, record: first.record, hit: first.hit, mappings: first.mappings, line: lineOf(at.at)}
	keys := r.stepKeys(step)
	keys["operation"] = func(n ast.Node) { step.Operation = r.text(n) }
	r.fields(at.value, keys)
	if step.Operation == "" {
		step.Operation = at.key
		if step.Poll != nil {
			step.Operation = "poll"
		}
	}
	return step
}

func (r *reader) stepKeys(step *Step) map[string]func(ast.Node) {
	return map[string]func(ast.Node){
		"request":  func(n ast.Node) { step.request = r.request(n) },
		"record":   func(n ast.Node) { step.record = r.record(n) },
		"hit":      func(n ast.Node) { step.hit = r.condition(n) },
		"outcomes": func(n ast.Node) { step.rules = r.rules(n) },
		"map":      func(n ast.Node) { step.mappings = r.mappings(n) },
		"poll":     func(n ast.Node) { step.Poll = r.poll(n) },
	}
}

// record reads where the mapping starts: a path, or several of which the first
// that leads to something counts.
func (r *reader) record(node ast.Node) []Path {
	paths := r.paths(node)
	if len(paths) == 0 {
		r.problem(node, "a record needs a path; without record it is the body")
	}
	return paths
}

// finish joins what the call inherits and resolves its references.
func (r *reader) finish(at ast.Node, call *Call) {
	d := call.definition
	for _, step := range call.steps {
		if step.request.path.text == "" {
			r.problem(at, "%s: step %s has no request", call.Operation, step.Name)
		}
		step.rules = slices.Concat(step.rules, d.rules)
		for i, rule := range step.rules {
			if slices.Contains(d.rules, rule) && rule.Outcome == enrich.Pending {
				shared := *rule // whose step depends on the call
				rule = &shared
				step.rules[i] = rule
			}
			r.resolveNext(rule, step)
		}
		if last := len(step.rules) - 1; last < 0 || !step.rules[last].isOpen() {
			r.problem(at, "%s: the last rule for step %s must hold for every answer, such as {outcome: malformed}", call.Operation, step.Name)
		}
		step.byName = map[enrich.Attribute]*mapping{}
		for _, mapping := range step.mappings {
			step.byName[mapping.spec.Attribute] = mapping
			for i := range mapping.sources {
				mapping.sources[i].inherit(call)
			}
		}
	}
	r.checkSteps(call)
	if len(call.Supplies()) == 0 {
		r.problem(at, "%s maps no attribute", call.Operation)
	}
}

func (s *source) inherit(call *Call) {
	if s.currency == "" {
		s.currency = call.definition.money
	}
	if s.missing == "" {
		s.missing = call.missing
	}
}

// resolveNext finds the step that a rule goes on with. A pending answer without
// one asks the same again.
func (r *reader) resolveNext(rule *Rule, step *Step) {
	if rule.Outcome != enrich.Pending {
		return
	}
	name := rule.next
	if name == "" {
		name = step.Name
	}
	rule.step = step.call.Step(name)
	switch {
	case rule.step == nil:
		r.problems = append(r.problems, Problem{r.file, rule.Line, fmt.Sprintf("%s has no step %q", step.call.Operation, name)})
	case rule.next == "" && rule.step.Poll == nil:
		r.problems = append(r.problems, Problem{r.file, rule.Line, fmt.Sprintf("step %s of %s is asked again, so it needs poll", step.Name, step.call.Operation)})
	}
}

// Defaults of polling, for vendors that say nothing.
const (
	defaultPollEvery  = 5 * time.Second
	defaultPollLasts  = 10 * time.Minute
	defaultPollFactor = 1.5
)

func (r *reader) poll(node ast.Node) *Poll {
	p := &Poll{Every: defaultPollEvery, Stretch: defaultPollFactor, MaxAge: defaultPollLasts}
	first := false
	r.fields(node, map[string]func(ast.Node){
		"first":   func(n ast.Node) { p.First, first = r.duration(n), true },
		"every":   func(n ast.Node) { p.Every = r.duration(n) },
		"stretch": func(n ast.Node) { p.Stretch = r.float(n) },
		"longest": func(n ast.Node) { p.Longest = r.duration(n) },
		"max_age": func(n ast.Node) { p.MaxAge = r.duration(n) },
	})
	if !first {
		p.First = p.Every
	}
	if p.Longest == 0 {
		p.Longest = 10 * p.Every
	}
	if p.Every == 0 || p.Stretch < 1 || p.MaxAge == 0 {
		r.problem(node, "a poll needs every and max_age of more than 0 and a stretch of 1 or more")
	}
	return p
}

func (r *reader) name(node ast.Node) string {
	name := r.text(node)
	file := strings.TrimSuffix(filepath.Base(r.file), ".yaml")
	if !validName.MatchString(name) || name != file {
		r.problem(node, "the name must be that of the file, in small letters: %s", file)
	}
	return name
}

func (r *reader) date(node ast.Node) string {
	date := r.scalar(node)
	if _, err := time.Parse(time.DateOnly, date); err != nil {
		r.problem(node, "must be a day such as 2026-01-31")
	}
	return date
}

func (r *reader) baseURL(node ast.Node) *url.URL {
	address, err := ParseBaseURL(r.scalar(node))
	if err != nil {
		r.problem(node, "%v", err)
		return &url.URL{}
	}
	return address
}

// ParseBaseURL reads the address that a vendor's calls begin with.
func ParseBaseURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || address.User != nil || address.RawQuery != "" || address.Fragment != "" ||
		address.Scheme != "https" && address.Scheme != "http" {
		return nil, fmt.Errorf("must be an address such as https://api.example.com")
	}
	return address, nil
}
