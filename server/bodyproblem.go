package server

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/enrichd/enrichd/enrich"
)

// explainBody says which field of a body protojson refused and where. The text
// of its error repeats what the caller sent, so only the position is taken from
// it; names come from the contract, and an unknown one from the body if it has
// the form of a name.
func explainBody(body []byte, refused error, request protoreflect.MessageDescriptor) *enrich.Error {
	at := positionIn(body, refused)
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	for {
		token, err := decoder.ReadToken()
		place := placeOf(decoder.StackPointer(), request)
		if err != nil {
			return malformed(err, int(decoder.InputOffset()), place)
		}
		if int(decoder.InputOffset()) <= at {
			continue
		}
		problem := place.problem(token, isName(decoder))
		problem.Offset = at
		return problem
	}
}

// protojsonPosition is where protojson's errors say line and column.
var protojsonPosition = regexp.MustCompile(`\(line (\d+):(\d+)\)`)

// positionIn is the byte that protojson refused, or the body's end.
func positionIn(body []byte, refused error) int {
	found := protojsonPosition.FindStringSubmatch(refused.Error())
	if found == nil {
		return len(body)
	}
	line, _ := strconv.Atoi(found[1])
	column, _ := strconv.Atoi(found[2])
	at := 0
	for ; line > 1; line-- {
		at += bytes.IndexByte(body[at:], '\n') + 1
	}
	for ; column > 1 && at < len(body); column-- {
		_, size := utf8.DecodeRune(body[at:])
		at += size
	}
	return at
}

// isName tells whether the decoder has just read the name of an object's member.
func isName(decoder *jsontext.Decoder) bool {
	kind, length := decoder.StackIndex(decoder.StackDepth())
	return kind == '{' && length%2 == 1
}

// malformed is a body that is no JSON, or ends too early.
func malformed(err error, end int, in place) *enrich.Error {
	at := end
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		at = int(syntax.ByteOffset)
	}
	text := fmt.Sprintf("the body is not one whole JSON value: malformed at byte %d", at)
	if in.path != "" {
		text += ", in or after " + in.path
	}
	return &enrich.Error{Kind: enrich.Invalid, Field: in.fieldOrBody(), Reason: "malformed_json", Offset: at, Message: text}
}

// place is a place in a body, in the contract's terms.
type place struct {
	path  string                       // names of the contract's fields, dotted
	field protoreflect.FieldDescriptor // the last of them; nil at the top
	// element: the place is in a list's element, not the list itself.
	element bool
	rest    string // a name that the contract does not have
}

// placeOf resolves a JSON pointer (RFC 6901) as far as the contract has names.
func placeOf(pointer jsontext.Pointer, message protoreflect.MessageDescriptor) (in place) {
	for name := range pointer.Tokens() {
		if in.field != nil && in.field.IsList() && !in.element {
			in.path, in.element = in.path+"["+name+"]", true
			message = in.field.Message()
			continue
		}
		if message == nil {
			break
		}
		field := message.Fields().ByJSONName(name)
		if field == nil {
			field = message.Fields().ByTextName(name)
		}
		if field == nil {
			in.rest = name
			break
		}
		in.path = strings.TrimPrefix(in.path+"."+string(field.Name()), ".")
		in.field, in.element, message = field, false, nil
		if field.Cardinality() != protoreflect.Repeated {
			message = field.Message()
		}
	}
	return in
}

func (p place) fieldOrBody() string {
	if p.path == "" {
		return "body"
	}
	return p.path
}

// problem says what is wrong with a token here: a name that is unknown or comes
// twice, or a value.
func (p place) problem(token jsontext.Token, name bool) *enrich.Error {
	problem := &enrich.Error{Kind: enrich.Invalid, Field: p.fieldOrBody(), Offset: -1}
	switch {
	case name && p.rest != "":
		problem.Reason = "unknown_field"
		problem.Message = fmt.Sprintf("%s: a field %sis not in the contract", p.fieldOrBody(), named(p.rest))
		if plainPath.MatchString(p.rest) {
			problem.Field = strings.TrimPrefix(p.path+"."+p.rest, ".")
		}
	case name && p.field != nil:
		problem.Reason = "repeated_field"
		problem.Message = p.path + ": a field is given once"
		if either := p.field.ContainingOneof(); either != nil && !either.IsSynthetic() {
			problem.Message = fmt.Sprintf("%s: one of %s is given, once", p.path, fieldNames(either))
		}
	case p.field != nil && isMask(p.field) && token.Kind() == '"':
		return badMaskText(token.String())
	case p.field != nil && p.field.IsList() && !p.element:
		problem.Reason = "wrong_value"
		problem.Message = p.path + ": must be a list"
	case p.field != nil:
		problem.Reason = "wrong_value"
		problem.Message = p.path + ": must be " + formOf(p.field)
	default:
		problem.Reason = "wrong_value"
		problem.Message = "the body must be one JSON object"
	}
	return problem
}

func fieldNames(either protoreflect.OneofDescriptor) string {
	var names []string
	for i := range either.Fields().Len() {
		names = append(names, string(either.Fields().Get(i).Name()))
	}
	return strings.Join(names, ", ")
}
