package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// checkVariables makes sure, once everything is read, that variables exist.
// Secrets may be used for signing only, so that no rule can leak one.
func (r *reader) checkVariables(node ast.Node, names []variable) {
	inAuth, call := r.inAuth, r.inCall
	r.later = append(r.later, func() {
		for _, name := range names {
			r.used[name] = r.used[name] || inAuth
			problem := r.variableProblem(name, inAuth)
			if problem == "" && call != nil && call.Kind == enrich.Company && slices.Contains(addressVariables, name) {
				problem = fmt.Sprintf("%s asks with a domain, so it has no $%s", call.Operation, name)
			}
			if problem != "" {
				r.problem(node, "%s", problem)
			}
		}
	})
}

// addressVariables have a value only where an address is asked for.
var addressVariables = []variable{"email", "local", "mail_domain"}

// checkSecrets makes sure, at last, that every secret signs something: an
// account must give it.
func (r *reader) checkSecrets() {
	for _, item := range r.secrets {
		if name := r.scalar(item); !r.used[variable(secretPrefix+name)] {
			r.problem(item, "secret %q is used nowhere under auth", name)
		}
	}
}

// checkSteps makes sure that a rule leads to each later step of the call.
func (r *reader) checkSteps(call *Call) {
	for _, step := range call.steps[1:] {
		led := slices.ContainsFunc(call.steps, func(from *Step) bool {
			return from != step && slices.ContainsFunc(from.rules, func(rule *Rule) bool { return rule.step == step || rule.next == step.Name })
		})
		if !led {
			r.problems = append(r.problems, Problem{r.file, step.line, fmt.Sprintf("no rule leads to step %s of %s", step.Name, call.Operation)})
		}
	}
}

func (r *reader) variableProblem(name variable, inAuth bool) string {
	secret, isSecret := strings.CutPrefix(string(name), secretPrefix)
	setting, isSetting := strings.CutPrefix(string(name), settingPrefix)
	_, hasSetting := r.about.settings[setting]
	switch {
	case isSecret && !inAuth:
		return "secrets may be used under auth only"
	case isSecret && !slices.Contains(r.about.secrets, secret):
		return fmt.Sprintf("secret %q is not listed under secrets", secret)
	case isSetting && !hasSetting:
		return fmt.Sprintf("setting %q is not listed under settings", setting)
	case isSecret, isSetting, slices.Contains(fixedVariables, name), r.captures[string(name)], name == "token" && inAuth:
		return ""
	default:
		return fmt.Sprintf("there is no $%s: it is captured nowhere", name)
	}
}

// declare notes the name of a captured value.
func (r *reader) declare(at ast.Node, name string) {
	if !validName.MatchString(name) || slices.Contains(fixedVariables, variable(name)) || name == "token" {
		r.problem(at, "%q cannot be the name of a captured value", name)
	}
	r.captures[name] = true
}

// checkOperations makes sure that limits count calls that exist.
func (r *reader) checkOperations(node ast.Node, names []string) {
	r.later = append(r.later, func() {
		known := map[string]bool{}
		for _, call := range r.about.calls {
			for _, step := range call.steps {
				known[step.Operation] = true
			}
		}
		for _, name := range names {
			if !known[name] {
				r.problem(node, "there is no operation %q; known: %s", name, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
			}
		}
	})
}
