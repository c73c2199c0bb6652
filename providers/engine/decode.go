package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of an answer: expressions and paths take time in proportion to its
// values.
const (
	maxValues = 100_000
	maxDepth  = 200
)

var (
	errTooManyValues = errors.New("too many values")
	errTooDeep       = errors.New("too deeply nested")
)

// byteOrderMark begins the texts of some servers. RFC 8259 lets readers pass it
// over.
var byteOrderMark = []byte("\uFEFF")

// decode reads one JSON value and nothing after it. Numbers become int where
// they are whole and fit, else float64; those that fit neither stay text. Of a
// key given twice the last counts.
//
// Texts are parts of one copy of the body: who keeps one must clone it, or he
// keeps them all.
func decode(raw []byte) (any, bool) {
	raw = bytes.TrimPrefix(raw, byteOrderMark)
	d := decoding{
		Decoder: jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
		whole:   string(raw),
		left:    maxValues,
	}
	value, err := d.value(0)
	if err != nil {
		return nil, false
	}
	_, err = d.ReadToken()
	return value, err == io.EOF
}

// decoding is one body under way.
type decoding struct {
	*jsontext.Decoder
	whole string
	left  int
}

func (d *decoding) value(depth int) (any, error) {
	if d.left--; d.left < 0 {
		return nil, errTooManyValues
	}
	if d.PeekKind() == '"' {
		return d.text()
	}
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.array(depth + 1)
	case '0':
		return number(token.String()), nil
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default:
		return nil, nil
	}
}

func (d *decoding) object(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	object := map[string]any{}
	for d.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if object[name], err = d.value(depth); err != nil {
			return nil, err
		}
	}
	_, err := d.ReadToken()
	return object, err
}

func (d *decoding) array(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	list := []any{}
	for d.PeekKind() != ']' {
		value, err := d.value(depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := d.ReadToken()
	return list, err
}

// text reads a string. Characters that are not UTF-8 become U+FFFD.
func (d *decoding) text() (string, error) {
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	inside := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		end := int(d.InputOffset()) - 1
		return d.whole[end-len(inside) : end], nil
	}
	unquoted, _ := jsontext.AppendUnquote(nil, quoted) // the error only says that something was replaced
	return string(unquoted), nil
}

func number(text string) any {
	if whole, err := strconv.Atoi(text); err == nil {
		return whole
	}
	if strings.ContainsAny(text, ".eE") {
		if float, err := strconv.ParseFloat(text, 64); err == nil {
			return float
		}
	}
	return json.Number(text)
}
