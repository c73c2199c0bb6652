package email

import (
	"html"
	"strings"
)

// unescapeHTML decodes one layer of HTML character references. Only those that
// end in a semicolon count: without it, "r&copy" may be what it says.
func unescapeHTML(t text) (out text, changed bool) {
	var e *edit
	done := 0
	for i := 0; ; {
		amp := strings.IndexByte(t.s[i:], '&')
		if amp < 0 {
			break
		}
		i += amp
		end := referenceEnd(t.s, i)
		if end < 0 {
			i++
			continue
		}
		ref := t.s[i:end]
		decoded := html.UnescapeString(ref)
		if decoded == ref || decoded[len(decoded)-1] == ';' && decoded != ";" {
			i++ // no such name, or only the first part of it is one
			continue
		}
		if e == nil {
			e = newEdit(len(t.s))
		}
		e.copy(t, done, i)
		e.put(decoded, t.pos(i))
		i, done = end, end
	}
	if e == nil {
		return t, false
	}
	e.copy(t, done, len(t.s))
	return e.text(), true
}

// referenceEnd returns the index behind the semicolon of the character
// reference at i, or -1. The longest name has 31 letters.
func referenceEnd(s string, i int) int {
	const longest = 33
	for j := i + 1; j < len(s) && j-i <= longest; j++ {
		switch c := s[j]; {
		case c == ';' && j > i+1:
			return j + 1
		case c == '#' && j == i+1:
		case c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
		default:
			return -1
		}
	}
	return -1
}

// unescapePercent decodes every %XX once.
func unescapePercent(t text) (out text, changed bool) {
	if !strings.Contains(t.s, "%") {
		return t, false
	}
	e := newEdit(len(t.s))
	for i := 0; i < len(t.s); {
		if b, ok := percentByte(t.s, i); ok {
			e.put(string([]byte{b}), t.pos(i))
			i += 3
			changed = true
			continue
		}
		e.copy(t, i, i+1)
		i++
	}
	return e.text(), changed
}

// percentByte reads the %XX at i.
func percentByte(s string, i int) (byte, bool) {
	if s[i] != '%' || i+2 >= len(s) {
		return 0, false
	}
	hi, lo := hexDigit(s[i+1]), hexDigit(s[i+2])
	return hi<<4 | lo, hi < 16 && lo < 16
}

func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 0xff
}
