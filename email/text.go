package email

import "strings"

// text is a piece of the input that remembers where each of its bytes came
// from. Cutting is free; only edits cost memory.
type text struct {
	s   string
	at  []int32 // input offset of each byte; nil: byte i came from off+i
	off int
}

// cut returns t.s[i:j] with its offsets.
func (t text) cut(i, j int) text {
	if t.at != nil {
		return text{s: t.s[i:j], at: t.at[i:j], off: t.pos(i)}
	}
	return text{s: t.s[i:j], off: t.off + i}
}

// pos returns the input offset of byte i, which may be len(t.s).
func (t text) pos(i int) int {
	switch {
	case t.at == nil:
		return t.off + i
	case i < len(t.at):
		return int(t.at[i])
	case len(t.at) > 0:
		return int(t.at[len(t.at)-1]) + 1
	}
	return t.off
}

// edit builds a text from pieces of another one.
type edit struct {
	b  []byte
	at []int32
}

func newEdit(capacity int) *edit {
	return &edit{b: make([]byte, 0, capacity), at: make([]int32, 0, capacity)}
}

// copy appends bytes i to j of t.
func (e *edit) copy(t text, i, j int) {
	e.b = append(e.b, t.s[i:j]...)
	if t.at != nil {
		e.at = append(e.at, t.at[i:j]...)
		return
	}
	for ; i < j; i++ {
		e.at = append(e.at, int32(t.off+i))
	}
}

// put appends s as if all of it came from input offset pos.
func (e *edit) put(s string, pos int) {
	e.b = append(e.b, s...)
	for range len(s) {
		e.at = append(e.at, int32(pos))
	}
}

func (e *edit) text() text {
	t := text{s: string(e.b), at: e.at}
	if len(e.at) > 0 {
		t.off = int(e.at[0])
	}
	return t
}

// step returns the index behind the element of s at i: a closed quoted string,
// an escaped quote, or one byte. Quotes that are never closed are plain bytes.
// Walking a string with step is linear: an unclosed quote is searched to the
// end once, as every later one is escaped.
func step(s string, i int) int {
	switch s[i] {
	case '"':
		if end := quoteEnd(s, i); end >= 0 {
			return end + 1
		}
	case '\\':
		if i+1 < len(s) && s[i+1] == '"' {
			return i + 2
		}
	}
	return i + 1
}

// quoteEnd returns the index of the quote that closes the one at i, or -1.
func quoteEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return -1
}

// atSign returns the index of the first @ at or after i that is outside quoted
// strings, or -1. The search must start outside quotes.
func atSign(s string, i int) int {
	if !strings.Contains(s[i:], `"`) {
		if j := strings.IndexByte(s[i:], '@'); j >= 0 {
			return i + j
		}
		return -1
	}
	for i < len(s) {
		if s[i] == '@' {
			return i
		}
		i = step(s, i)
	}
	return -1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// isBreak reports whether c ends a word of a list.
func isBreak(c byte) bool { return isBlank(c) || c == ',' || c == ';' }
