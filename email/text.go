package email

import (
	"sort"
	"strings"
)

// text is a piece of the input, perhaps edited, that knows where in the input
// its bytes came from. Cutting and measuring cost nothing.
type text struct {
	s string
	// moved says where the edited text that s was cut from has its parts from;
	// nil means that it is the input itself.
	moved []move
	off   int // index of s in that text
}

// move says that the text from index to on came from input offset from on.
type move struct{ to, from int32 }

// cut returns t.s[i:j].
func (t text) cut(i, j int) text { return text{s: t.s[i:j], moved: t.moved, off: t.off + i} }

// pos returns the input offset of byte i, which may be len(t.s).
func (t text) pos(i int) int {
	i += t.off
	if t.moved == nil {
		return i
	}
	k := sort.Search(len(t.moved), func(k int) bool { return int(t.moved[k].to) > i }) - 1
	if k < 0 {
		return i
	}
	return int(t.moved[k].from) + i - int(t.moved[k].to)
}

// edit makes a changed copy of a text. Nothing is copied until something
// changes.
type edit struct {
	src   text
	done  int // src is copied up to here
	next  int // first move of src that is not behind done
	out   []byte
	moved []move
}

// replace puts s in the place of src.s[i:j]. Calls go from left to right.
func (e *edit) replace(i, j int, s string) {
	if e.out == nil {
		e.out = make([]byte, 0, len(e.src.s)+len(s))
	}
	e.keep(i)
	if s != "" {
		e.move(i)
		e.out = append(e.out, s...)
	}
	e.done = j
}

// keep copies src up to index i.
func (e *edit) keep(i int) {
	if e.done == i {
		return
	}
	e.move(e.done)
	shift := len(e.out) - e.src.off - e.done
	for ; e.next < len(e.src.moved) && int(e.src.moved[e.next].to) < e.src.off+i; e.next++ {
		if m := e.src.moved[e.next]; int(m.to) > e.src.off+e.done {
			e.moved = append(e.moved, move{m.to + int32(shift), m.from})
		}
	}
	e.out = append(e.out, e.src.s[e.done:i]...)
	e.done = i
}

// move notes that the output goes on with what came from src.s[i:].
func (e *edit) move(i int) {
	e.moved = append(e.moved, move{int32(len(e.out)), int32(e.src.pos(i))})
}

// text returns the result.
func (e *edit) text() text {
	if e.out == nil {
		return e.src
	}
	e.keep(len(e.src.s))
	return text{s: string(e.out), moved: e.moved}
}

// step returns the index behind the element of s at i: a closed quoted string,
// an escaped quote, or one byte. Quotes that are never closed are plain bytes.
// Walking a string with step is linear: an unclosed quote is searched to the
// end once, as every later one is escaped.
func step(s string, i int) int {
	if c := s[i]; c != '"' && c != '\\' {
		return i + 1
	}
	return stepQuote(s, i)
}

func stepQuote(s string, i int) int {
	if s[i] == '"' {
		if end := quoteEnd(s, i); end >= 0 {
			return end + 1
		}
	} else if i+1 < len(s) && s[i+1] == '"' {
		return i + 2
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
	at := strings.IndexByte(s[i:], '@')
	if at < 0 || !strings.Contains(s[i:i+at], `"`) {
		if at < 0 {
			return -1
		}
		return i + at
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
