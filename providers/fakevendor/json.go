package fakevendor

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// object is a JSON object whose members keep their order. Values are nil,
// texts, bools, ints, int64s, float64s, lists, []string and objects.
type object []member

type member struct {
	name  string
	value any
}

// list is a JSON array.
type list []any

// omitted is a member's value when the member is left out.
type omitted struct{}

// orNull is a text, or null where nothing is known.
func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// numberOrNull is a number, or null for 0.
func numberOrNull[T int | int64](n T) any {
	if n == 0 {
		return nil
	}
	return n
}

// orOmit is a text, or no member at all where nothing is known.
func orOmit(text string) any {
	if text == "" {
		return omitted{}
	}
	return text
}

// numberOrOmit is a number, or no member at all for 0.
func numberOrOmit[T int | int64](n T) any {
	if n == 0 {
		return omitted{}
	}
	return n
}

// appendJSON appends a value's JSON text.
func appendJSON(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case string:
		return appendText(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	case object:
		b = append(b, '{')
		first := true
		for _, m := range v {
			if m.value == (omitted{}) {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendText(b, m.name), ':')
			b = appendJSON(b, m.value)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, element)
		}
		return append(b, ']')
	case []string:
		b = append(b, '[')
		for i, element := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendText(b, element)
		}
		return append(b, ']')
	}
	panic(fmt.Sprintf("fakevendor: a %T in an answer", value))
}

// appendText appends a JSON string.
func appendText(b []byte, text string) []byte {
	if strings.ContainsFunc(text, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == '\ufffd' }) {
		escaped, err := json.Marshal(text)
		if err != nil {
			panic("fakevendor: " + err.Error()) // a string always has a JSON form
		}
		return append(b, escaped...)
	}
	b = append(b, '"')
	b = append(b, text...)
	return append(b, '"')
}
