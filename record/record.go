// Package record writes records as bytes and reads them again: the stored form
// that caches and the ledger share, proto/record/v1.
package record

import (
	"errors"
	"math"
	"sync"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/enrichd/enrichd/enrich"
)

// The messages of proto/record/v1 are read and written by hand: a record is read
// at every recall that memory does not answer, and so its texts share the bytes
// that came, and one slice holds all facts. A test holds this against the
// generated code.
const (
	recordSources    = 1
	recordAttributes = 2

	attributeName  = 1
	attributeFacts = 2

	factSource     = 1
	factState      = 2
	factFetchedAt  = 3
	factConfidence = 4
	factPrice      = 5
	factText       = 6
	factWord       = 7
	factNumber     = 8
	factList       = 9

	listItems = 1
)

// ErrForm is the error of bytes that are no record.
var ErrForm = errors.New("record: not an encoded record")

// ErrFact is the error of a fact that the stored form has no place for.
var ErrFact = errors.New("record: a fact without a source, with a text that is not UTF-8, or that contradicts itself")

// Encode returns the stored form of a record; the empty one has none.
func Encode(record enrich.Record) (string, error) {
	facts := record.Facts() // sorted by attribute and source
	buffers := spare.Get().(*buffers)
	defer spare.Put(buffers)
	encoded, attribute, fact := buffers.encoded[:0], buffers.attribute, buffers.fact
	var sources []string
	for i := range facts {
		f := &facts[i]
		if !storable(f) || !readable(f) {
			return "", ErrFact
		}
		if sourceIndex(sources, f.Source) < 0 {
			sources = append(sources, f.Source)
			encoded = appendText(encoded, recordSources, f.Source)
		}
	}
	for start := 0; start < len(facts); {
		name := facts[start].Attribute
		attribute = appendText(attribute[:0], attributeName, string(name))
		for ; start < len(facts) && facts[start].Attribute == name; start++ {
			fact = appendFact(fact[:0], &facts[start], sourceIndex(sources, facts[start].Source))
			attribute = appendBytes(attribute, attributeFacts, fact)
		}
		encoded = appendBytes(encoded, recordAttributes, attribute)
	}
	buffers.encoded, buffers.attribute, buffers.fact = encoded, attribute, fact
	return string(encoded), nil
}

// buffers hold a record, one of its attributes and one of its facts while they are
// encoded. Grown anew for each record, they would take four times its size.
type buffers struct{ encoded, attribute, fact []byte }

var spare = sync.Pool{New: func() any { return &buffers{} }}

func sourceIndex(sources []string, source string) int {
	for i, known := range sources {
		if known == source {
			return i
		}
	}
	return -1
}

func appendFact(to []byte, fact *enrich.Fact, source int) []byte {
	to = appendVarint(to, factSource, uint64(source))
	to = appendVarint(to, factState, uint64(fact.State))
	to = appendVarint(to, factFetchedAt, uint64(fact.FetchedAt.UnixMilli()))
	to = protowire.AppendTag(to, factConfidence, protowire.Fixed64Type)
	to = protowire.AppendFixed64(to, math.Float64bits(fact.Confidence))
	to = appendVarint(to, factPrice, uint64(fact.Price))
	if fact.Value.IsZero() {
		return to
	}
	switch fact.Value.Form() {
	case enrich.Text:
		return appendText(to, factText, fact.Value.Text())
	case enrich.Word:
		return appendText(to, factWord, fact.Value.Text())
	case enrich.Number:
		return appendVarint(to, factNumber, uint64(fact.Value.Number()))
	default:
		var list []byte
		for _, item := range fact.Value.List() {
			list = appendText(list, listItems, item)
		}
		return appendBytes(to, factList, list)
	}
}

func appendVarint(to []byte, field protowire.Number, value uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), value)
}

func appendText(to []byte, field protowire.Number, text string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), text)
}

func appendBytes(to []byte, field protowire.Number, value []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), value)
}

// Decode is the inverse of Encode. It refuses what Encode cannot have written,
// so that damage never becomes a wrong fact. The record shares the payload's
// bytes.
func Decode(payload string) (enrich.Record, error) {
	facts := make([]enrich.Fact, 0, countFacts(payload))
	var few [4]string // on the stack
	sources := few[:0]
	in := wire{from: payload}
	for in.next() {
		switch in.field {
		case recordSources:
			sources = append(sources, in.text())
		case recordAttributes:
			var ok bool
			if facts, ok = decodeAttribute(facts, in.message(), sources); !ok {
				return enrich.Record{}, ErrForm
			}
		}
	}
	if in.bad || len(facts) == 0 {
		return enrich.Record{}, ErrForm
	}
	record, ok := enrich.SortedRecord(facts)
	if !ok {
		return enrich.Record{}, ErrForm
	}
	return record, nil
}

// countFacts counts without reading the facts themselves.
func countFacts(payload string) (count int) {
	in := wire{from: payload}
	for in.next() {
		if in.field != recordAttributes {
			continue
		}
		attribute := in.message()
		for attribute.next() {
			if attribute.field == attributeFacts {
				count++
			}
		}
	}
	return count
}

func decodeAttribute(facts []enrich.Fact, in wire, sources []string) ([]enrich.Fact, bool) {
	var name enrich.Attribute
	for in.next() {
		switch in.field {
		case attributeName:
			name = enrich.Attribute(in.text())
		case attributeFacts:
			facts = append(facts, enrich.Fact{Attribute: name})
			if fact := in.message(); name == "" || !decodeFact(&facts[len(facts)-1], &fact, sources) {
				return nil, false
			}
		}
	}
	return facts, !in.bad
}

func decodeFact(fact *enrich.Fact, in *wire, sources []string) bool {
	source := uint64(0)
	for in.next() {
		switch in.field {
		case factSource:
			source = in.number
		case factState:
			fact.State = enrich.State(in.number)
		case factFetchedAt:
			fact.FetchedAt = time.UnixMilli(int64(in.number))
		case factConfidence:
			fact.Confidence = math.Float64frombits(in.number)
		case factPrice:
			fact.Price = enrich.Micros(in.number)
		case factText:
			fact.Value = enrich.TextValue(in.text())
		case factWord:
			fact.Value = enrich.WordValue(in.text())
		case factNumber:
			fact.Value = enrich.NumberValue(int64(in.number))
		case factList:
			var ok bool
			if fact.Value, ok = decodeList(in.message()); !ok {
				return false
			}
		}
	}
	if in.bad || source >= uint64(len(sources)) || sources[source] == "" {
		return false
	}
	fact.Source = sources[source]
	return storable(fact)
}

func decodeList(in wire) (enrich.Value, bool) {
	var items []string
	for in.next() {
		if in.field == listItems {
			items = append(items, in.text())
		}
	}
	return enrich.ListValue(items), !in.bad
}

// storable tells whether state, value and confidence agree with what they are
// defined to be.
func storable(fact *enrich.Fact) bool {
	known := fact.State >= enrich.StateValue && fact.State <= enrich.StateSuppressed
	stated := (fact.State == enrich.StateValue) == !fact.Value.IsZero()
	sure := fact.Confidence >= 0 && fact.Confidence <= 1 // which NaN is not
	return known && stated && sure
}

// readable tells whether all texts are UTF-8, and those that may not be empty
// are not.
func readable(fact *enrich.Fact) bool {
	for _, item := range fact.Value.List() {
		if !utf8.ValidString(item) {
			return false
		}
	}
	return fact.Attribute != "" && utf8.ValidString(string(fact.Attribute)) &&
		fact.Source != "" && utf8.ValidString(fact.Source) && utf8.ValidString(fact.Value.Text())
}
