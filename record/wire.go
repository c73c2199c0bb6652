package record

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire reads the fields of a protocol buffer one after the other. Texts are
// parts of the string that is read; nothing is copied. Where it is in the string
// it knows by numbers alone: to move pointers costs as much again while the
// collector runs.
type wire struct {
	from string
	at   int  // of the next field
	bad  bool // what was read is no protocol buffer

	field      protowire.Number
	number     uint64 // of a varint or fixed field
	start, end int    // of the text of any other field
}

// next reads a field; false at the end or when the bytes are bad.
func (w *wire) next() bool {
	if w.at == len(w.from) || w.bad {
		return false
	}
	field, kind := protowire.DecodeTag(w.varint())
	w.field, w.number, w.start, w.end = field, 0, 0, 0
	switch kind {
	case protowire.VarintType:
		w.number = w.varint()
	case protowire.Fixed64Type:
		w.fixed64()
	case protowire.BytesType:
		size := w.varint()
		w.bad = w.bad || size > uint64(len(w.from)-w.at)
		if !w.bad {
			w.start, w.end = w.at, w.at+int(size)
			w.at = w.end
		}
	default:
		w.bad = true
	}
	w.bad = w.bad || field < protowire.MinValidNumber
	return !w.bad
}

// varint reads a number of seven bits in each byte, the lowest first.
func (w *wire) varint() (number uint64) {
	for shift := 0; w.at < len(w.from) && shift < 64; shift += 7 {
		b := w.from[w.at]
		w.at++
		if shift == 63 && b > 1 { // more than 64 bits
			break
		}
		number |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return number
		}
	}
	w.bad = true
	return 0
}

// fixed64 reads a number of eight bytes, the lowest first.
func (w *wire) fixed64() {
	if len(w.from)-w.at < 8 {
		w.bad = true
		return
	}
	for i := range 8 {
		w.number |= uint64(w.from[w.at+i]) << (8 * i)
	}
	w.at += 8
}

// text is the field as a text, which must be UTF-8.
func (w *wire) text() string {
	text := w.from[w.start:w.end]
	if !utf8.ValidString(text) {
		w.bad = true
		return ""
	}
	return text
}

// message is the field as a message of its own.
func (w *wire) message() wire { return wire{from: w.from[w.start:w.end]} }
