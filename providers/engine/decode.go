package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
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
const byteOrderMark = "\uFEFF"

// decode reads one JSON value and nothing after it. Numbers become int where
// they are whole and fit, else float64; those that fit neither stay text. Of a
// key given twice the last counts.
//
// Texts are parts of whole, which is the same as raw: who keeps one must clone
// it, or he keeps them all.
func decode(raw []byte, whole string) (any, bool) {
	raw, whole = bytes.TrimPrefix(raw, []byte(byteOrderMark)), strings.TrimPrefix(whole, byteOrderMark)
	d := decodings.Get().(*decoding)
	defer d.putBack()
	d.Reset(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	d.whole, d.left = whole, maxValues
	d.verbatim = utf8.ValidString(whole) && strings.IndexByte(whole, '\\') < 0
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
	// verbatim is set when all texts mean what stands in the body.
	verbatim bool
	left     int
	// items of the objects and lists that are not closed yet, so that each is
	// made in its size.
	items []item
}

// item is a value of an object or list; in a list it has no name.
type item struct {
	name  string
	value any
}

// decodings are kept for later answers.
var decodings = sync.Pool{New: func() any { return &decoding{Decoder: jsontext.NewDecoder(new(bytes.Buffer))} }}

func (d *decoding) putBack() {
	const most = 1000 // items: not to keep what one huge answer took
	if cap(d.items) > most {
		d.items = nil
	}
	clear(d.items[:cap(d.items)])
	d.items, d.whole = d.items[:0], ""
	d.Reset(new(bytes.Buffer))
	decodings.Put(d)
}

func (d *decoding) value(depth int) (any, error) {
	if d.left--; d.left < 0 {
		return nil, errTooManyValues
	}
	switch d.PeekKind() {
	case '"':
		return d.text()
	case '0':
		number, err := d.ReadValue()
		if err != nil {
			return nil, err
		}
		end := int(d.InputOffset())
		return numberOf(d.whole[end-len(number) : end]), nil
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
	case 't':
		return true, nil
	case 'f':
		return false, nil
	default:
		return nil, nil
	}
}

func (d *decoding) object(depth int) (any, error) {
	first := len(d.items)
	for d.PeekKind() != '}' {
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if err := d.item(name, depth); err != nil {
			return nil, err
		}
	}
	object := make(map[string]any, len(d.items)-first)
	for _, item := range d.items[first:] {
		object[item.name] = item.value
	}
	d.items = d.items[:first]
	_, err := d.ReadToken()
	return object, err
}

func (d *decoding) array(depth int) (any, error) {
	first := len(d.items)
	for d.PeekKind() != ']' {
		if err := d.item("", depth); err != nil {
			return nil, err
		}
	}
	list := make([]any, len(d.items)-first)
	for i, item := range d.items[first:] {
		list[i] = item.value
	}
	d.items = d.items[:first]
	_, err := d.ReadToken()
	return list, err
}

// item reads a value of an object or list.
func (d *decoding) item(name string, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	value, err := d.value(depth)
	d.items = append(d.items, item{name, value})
	return err
}

// text reads a string. Characters that are not UTF-8 become U+FFFD.
func (d *decoding) text() (string, error) {
	quoted, err := d.ReadValue()
	if err != nil {
		return "", err
	}
	inside := quoted[1 : len(quoted)-1]
	if d.verbatim || bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
		end := int(d.InputOffset()) - 1
		return d.whole[end-len(inside) : end], nil
	}
	unquoted, _ := jsontext.AppendUnquote(nil, quoted) // the error only says that something was replaced
	return string(unquoted), nil
}

// numberOf reads a number, of which json.Number keeps the text.
func numberOf(text string) any {
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
