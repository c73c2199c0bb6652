package engine

import (
	"crypto/md5" //nolint:gosec // vendors ask for it as an identifier
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// template is a text with variables in it: "$email", "$(email|lower|sha256)",
// "/jobs/$job". "$$" is a dollar sign.
type template struct {
	text  string
	parts []templatePart
}

// templatePart is a literal, or a variable and what is done to it.
type templatePart struct {
	literal    string
	name       variable
	transforms []string
}

// transforms are what a template can do to a variable.
var transforms = map[string]func(string) string{
	"lower":  strings.ToLower,
	"upper":  strings.ToUpper,
	"trim":   strings.TrimSpace,
	"md5":    func(s string) string { sum := md5.Sum([]byte(s)); return hex.EncodeToString(sum[:]) }, //nolint:gosec
	"sha256": func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
	"base64": func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
}

var reference = regexp.MustCompile(`^\$(?:\$|([a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)?)|\(([^)]*)\))`)

func parseTemplate(text string) (template, error) {
	parsed := template{text: text}
	for rest := text; rest != ""; {
		before, _, found := strings.Cut(rest, "$")
		if before != "" {
			parsed.parts = append(parsed.parts, templatePart{literal: before})
		}
		if !found {
			break
		}
		rest = rest[len(before):]
		match := reference.FindStringSubmatch(rest)
		if match == nil {
			return template{}, errors.New("after $ belongs a name such as $email or $(email|lower); a plain dollar sign is $$")
		}
		rest = rest[len(match[0]):]
		if match[0] == "$$" {
			parsed.parts = append(parsed.parts, templatePart{literal: "$"})
			continue
		}
		name, pipes, _ := strings.Cut(match[1]+match[2], "|")
		part := templatePart{name: variable(strings.TrimSpace(name))}
		for pipe := range strings.SplitSeq(pipes, "|") {
			pipe = strings.TrimSpace(pipe)
			if pipe == "" {
				continue
			}
			if transforms[pipe] == nil {
				return template{}, fmt.Errorf("there is no transform %q", pipe)
			}
			part.transforms = append(part.transforms, pipe)
		}
		parsed.parts = append(parsed.parts, part)
	}
	return parsed, nil
}

// variables returns the variables that the template refers to.
func (t template) variables() []variable {
	var names []variable
	for _, part := range t.parts {
		if part.name != "" {
			names = append(names, part.name)
		}
	}
	return names
}

// fill puts the values of the variables in. A template of which a variable has
// no value is "", so that it is left out.
func (t template) fill(s *Scope, escape func(string) string) string {
	filled := ""
	for _, part := range t.parts {
		if part.name == "" {
			filled += part.literal
			continue
		}
		value := part.name.in(s)
		if value == "" {
			return ""
		}
		for _, transform := range part.transforms {
			value = transforms[transform](value)
		}
		if escape != nil {
			value = escape(value)
		}
		filled += value
	}
	return filled
}
