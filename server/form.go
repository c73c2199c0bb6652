package server

import (
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

const maskType = "google.protobuf.FieldMask"

func isMask(field protoreflect.FieldDescriptor) bool {
	return field.Message() != nil && field.Message().FullName() == maskType
}

// wellKnownForms are the JSON forms of the messages that have one of their own.
var wellKnownForms = map[protoreflect.FullName]string{
	maskType:                    `paths in a string, such as "person.title,company"`,
	"google.protobuf.Duration":  `seconds in a string, such as "1.5s"`,
	"google.protobuf.Timestamp": `a time of RFC 3339 in a string, such as "2026-01-31T12:00:00Z"`,
}

// formOf says how a field's value is written in JSON.
func formOf(field protoreflect.FieldDescriptor) string {
	switch field.Kind() {
	case protoreflect.StringKind:
		return "a string"
	case protoreflect.BoolKind:
		return "true or false"
	case protoreflect.FloatKind, protoreflect.DoubleKind:
		return "a number"
	case protoreflect.EnumKind:
		var names []string
		for i := range field.Enum().Values().Len() {
			names = append(names, string(field.Enum().Values().Get(i).Name()))
		}
		return "one of " + strings.Join(names, ", ")
	case protoreflect.MessageKind:
		if form := wellKnownForms[field.Message().FullName()]; form != "" {
			return form
		}
		return "an object"
	default:
		return "a whole number"
	}
}
