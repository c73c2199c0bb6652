package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

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
func decode(raw []byte) (any, bool) {
	d := decoding{
		Decoder: jsontext.NewDecoder(bytes.NewBuffer(bytes.TrimPrefix(raw, byteOrderMark)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
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
	left int
}

func (d *decoding) value(depth int) (any, error) {
	token, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	if d.left--; d.left < 0 {
		return nil, errTooManyValues
	}
	switch token.Kind() {
	case '{':
		return d.object(depth + 1)
	case '[':
		return d.array(depth + 1)
	case '"':
		return token.String(), nil
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
		token, err := d.ReadToken()
		if err != nil {
			return nil, err
		}
		name := token.String()
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
