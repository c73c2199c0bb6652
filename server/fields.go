package server

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// plainPath matches the paths and names that an error may repeat. Anything else
// may be a value that went astray, and is only pointed at.
var plainPath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}(\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,3}$`)

// readFields turns the paths of a field mask into attributes, each once;
// "person" and "company" stand for all of theirs.
func readFields(paths []string) ([]enrich.Attribute, error) {
	var wanted []enrich.Attribute
	for i, path := range paths {
		attributes := []enrich.Attribute{enrich.Attribute(path)}
		switch _, known := enrich.SpecOf(attributes[0]); {
		case known:
		case path == enrich.Person.String():
			attributes = enrich.AttributesOf(enrich.Person)
		case path == enrich.Company.String():
			attributes = enrich.AttributesOf(enrich.Company)
		default:
			return nil, badPath(i, "unknown_attribute", fmt.Sprintf("%sis not person, company or one of their fields", named(path)))
		}
		for _, attribute := range attributes {
			if !slices.Contains(wanted, attribute) {
				wanted = append(wanted, attribute)
			}
		}
	}
	return wanted, nil
}

// badMaskText says which path of a field mask's JSON form is not one. JSON
// writes paths in lowerCamelCase (google/protobuf/field_mask.proto).
func badMaskText(text string) *enrich.Error {
	for i, path := range strings.Split(strings.TrimSpace(text), ",") {
		switch {
		case plainPath.MatchString(path) && strings.Contains(path, "_"):
			return badPath(i, "not_camel_case", fmt.Sprintf("JSON writes paths in lowerCamelCase: %s, not %s", camelCase(path), path))
		case !plainPath.MatchString(path):
			return badPath(i, "no_path", `is not a path such as person.title; paths are separated by "," alone`)
		}
	}
	return badPath(0, "no_path", "is not a path such as person.title")
}

func badPath(index int, class, text string) *enrich.Error {
	field := fmt.Sprintf("fields.paths[%d]", index)
	return &enrich.Error{Kind: enrich.Invalid, Field: field, Reason: class, Offset: -1, Message: field + ": " + text}
}

// named is a name before a verb, or nothing when it must not be repeated.
func named(name string) string {
	if plainPath.MatchString(name) {
		return name + " "
	}
	return ""
}

// camelCase writes snake_case in lowerCamelCase.
func camelCase(path string) string {
	parts := strings.Split(path, "_")
	for i, part := range parts[1:] {
		if part != "" {
			parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}
