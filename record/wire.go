package record

import (
	"unicode/utf8"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"
)

// wire reads the fields of a protocol buffer one after the other. Texts are
// parts of the string that is read; nothing is copied.
type wire struct {
	rest []byte // of the string's own bytes, which nobody may change
	bad  bool   // what was read is no protocol buffer

	field  protowire.Number
	number uint64 // of a varint or fixed field
	bytes  []byte // of any other field
}

func readWire(from string) wire {
	return wire{rest: unsafe.Slice(unsafe.StringData(from), len(from))}
}

// next reads a field; false at the end or when the bytes are bad.
func (w *wire) next() bool {
	if len(w.rest) == 0 || w.bad {
		return false
	}
	field, kind, size := protowire.ConsumeTag(w.rest)
	if size < 0 {
		return w.fail()
	}
	w.field, w.number, w.bytes = field, 0, nil
	w.rest = w.rest[size:]
	switch kind {
	case protowire.VarintType:
		w.number, size = protowire.ConsumeVarint(w.rest)
	case protowire.Fixed64Type:
		w.number, size = protowire.ConsumeFixed64(w.rest)
	case protowire.BytesType:
		w.bytes, size = protowire.ConsumeBytes(w.rest)
	default:
		return w.fail()
	}
	if size < 0 {
		return w.fail()
	}
	w.rest = w.rest[size:]
	return true
}

func (w *wire) fail() bool {
	w.bad = true
	return false
}

// text is the field as a text, which must be UTF-8.
func (w *wire) text() string {
	if !utf8.Valid(w.bytes) {
		w.bad = true
		return ""
	}
	return unsafe.String(unsafe.SliceData(w.bytes), len(w.bytes))
}

// message is the field as a message of its own.
func (w *wire) message() wire { return wire{rest: w.bytes} }
