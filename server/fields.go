package server

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// plainPath matches the paths and names that an error may repeat. Anything else
// may be a value that went astray, and is only pointed at.
var plainPath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,39}(\.[A-Za-z_][A-Za-z0-9_]{0,39}){0,3}$`)

// kinds has what the paths of whole subjects stand for. The lists are shared, and
// read only: to make one takes eight allocations.
var kinds = map[string][]enrich.Attribute{
	enrich.Person.String():  slices.Clip(enrich.AttributesOf(enrich.Person)),
	enrich.Company.String(): slices.Clip(enrich.AttributesOf(enrich.Company)),
}

// readFields turns the paths of a field mask into attributes, each once;
// "person" and "company" stand for all of theirs. The attributes may be shared
// with other requests, and are read only.
func readFields(paths []string) (wanted []enrich.Attribute, err error) {
	for i, path := range paths {
		attributes, whole := kinds[path]
		if !whole {
			if _, known := enrich.SpecOf(enrich.Attribute(path)); !known {
				return nil, badPath(i, "unknown_attribute", fmt.Sprintf("%sis not person, company or one of their fields", named(path)))
			}
			attributes = []enrich.Attribute{enrich.Attribute(path)}
		}
		if wanted == nil {
			wanted = attributes // each once already
			continue
		}
		for _, attribute := range attributes {
			if !slices.Contains(wanted, attribute) {
				wanted = append(wanted, attribute)
			}
		}
	}
	return wanted, nil
}

// badMaskText says which path of a field mask's JSON form is not one.
func badMaskText(text string) *enrich.Error {
	for i, path := range strings.Split(strings.TrimSpace(text), ",") {
		if !plainPath.MatchString(path) {
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

// snakeMask matches a mask in a JSON body with a path in snake_case. A string
// before a colon is always a member's name, and fields is always a mask.
var snakeMask = regexp.MustCompile(`"fields"\s*:\s*"[^"\\]*_[^"\\]*"`)

// camelMasks writes the paths of masks in lowerCamelCase, which is how JSON has
// them (google/protobuf/field_mask.proto); the contract's own names, in
// snake_case, are accepted like those of other fields. Everything else stays in
// its place, so that errors point to where the caller wrote it.
func camelMasks(body []byte) []byte {
	if bytes.IndexByte(body, '_') < 0 {
		return body
	}
	return snakeMask.ReplaceAllFunc(body, func(mask []byte) []byte {
		camel := make([]byte, 0, len(mask))
		for i := 0; i < len(mask); i++ {
			if mask[i] == '_' && i+1 < len(mask) && 'a' <= mask[i+1] && mask[i+1] <= 'z' {
				i++
				camel = append(camel, mask[i]-'a'+'A')
				continue
			}
			camel = append(camel, mask[i])
		}
		return append(camel, bytes.Repeat([]byte{' '}, len(mask)-len(camel))...)
	})
}
