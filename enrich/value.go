package enrich

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
)

// Value is what a fact states about an attribute: a text or word, a whole
// number, or a list of texts. The zero Value states nothing. A Value is never
// changed after it was made, so it may be shared.
type Value struct {
	form   Form
	set    bool
	text   string
	number int64
	list   []string
}

// TextValue states a text; an empty text states nothing.
func TextValue(text string) Value { return Value{form: Text, set: text != "", text: text} }

// WordValue states a word of an attribute's Spec.Words.
func WordValue(word string) Value { return Value{form: Word, set: word != "", text: word} }

// NumberValue states a whole number.
func NumberValue(number int64) Value { return Value{form: Number, set: true, number: number} }

// ListValue states a list of texts: it is copied, sorted and freed of
// duplicates. An empty list states nothing.
func ListValue(list []string) Value {
	list = slices.Clone(list)
	slices.Sort(list)
	return Value{form: List, set: len(list) > 0, list: slices.Compact(list)}
}

// IsZero tells whether v states nothing.
func (v Value) IsZero() bool { return !v.set }

// Form tells which of Text, Number and List holds the value.
func (v Value) Form() Form { return v.form }

// Text returns the text or word, or "" for other forms.
func (v Value) Text() string { return v.text }

// Number returns the number, or 0 for other forms.
func (v Value) Number() int64 { return v.number }

// List returns the list, not to be changed, or nil for other forms.
func (v Value) List() []string { return v.list }

// Equal tells whether both state the same.
func (v Value) Equal(other Value) bool { return v.compare(other) == 0 }

// compare is a total order without a meaning of its own; it only makes the
// choice between otherwise equal facts independent of their arrival.
func (v Value) compare(other Value) int {
	return cmp.Or(
		cmp.Compare(v.form, other.form),
		cmp.Compare(v.text, other.text),
		cmp.Compare(v.number, other.number),
		slices.Compare(v.list, other.list),
	)
}

// MarshalJSON writes a text as a string, a number as a number and a list as an
// array, as replays and logs of demo data show them.
func (v Value) MarshalJSON() ([]byte, error) {
	switch {
	case !v.set:
		return []byte("null"), nil
	case v.form == Number:
		return strconv.AppendInt(nil, v.number, 10), nil
	case v.form == List:
		return json.Marshal(v.list)
	default:
		return json.Marshal(v.text)
	}
}

// String describes the form, never the value, which may be personal data.
func (v Value) String() string {
	return map[Form]string{Text: "[text]", Word: "[word]", Number: "[number]", List: "[list]"}[v.form]
}

// GoString describes the form for %#v.
func (v Value) GoString() string { return v.String() }
