package email

import (
	"html"
	"strconv"
	"strings"
)

// unescapeHTML decodes one layer of HTML character references. Only those that
// end in a semicolon count: without it, "r&copy" may be what it says.
func unescapeHTML(t text) (out text, changed bool) {
	e := edit{src: t}
	last := strings.LastIndexByte(t.s, ';')
	for i := 0; ; {
		amp := strings.IndexByte(t.s[i:max(i, last)], '&')
		if amp < 0 {
			return e.text(), changed
		}
		i += amp
		end := referenceEnd(t.s, i)
		if end < 0 {
			i++
			continue
		}
		decoded, ok := decodeReference(t.s[i:end])
		if !ok {
			i++
			continue
		}
		e.replace(i, end, decoded)
		changed = true
		i = end
	}
}

// decodeReference decodes "&name;" or "&#number;". It reports false if there is
// no such name, or only its first letters are one.
func decodeReference(ref string) (string, bool) {
	switch ref { // most of what exports contain
	case "&amp;":
		return "&", true
	case "&lt;":
		return "<", true
	case "&gt;":
		return ">", true
	case "&quot;":
		return `"`, true
	case "&nbsp;":
		return "\u00a0", true
	}
	if ref[1] == '#' {
		if n, err := strconv.ParseUint(ref[2:len(ref)-1], 10, 7); err == nil && n > 0 {
			return string(rune(n)), true // ASCII
		}
	}
	decoded := html.UnescapeString(ref)
	return decoded, decoded != ref && (decoded == ";" || !strings.HasSuffix(decoded, ";"))
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
	e := edit{src: t}
	for i := 0; ; {
		percent := strings.IndexByte(t.s[i:], '%')
		if percent < 0 {
			return e.text(), changed
		}
		i += percent
		if b, ok := percentByte(t.s, i); ok {
			e.replace(i, i+3, string([]byte{b}))
			changed = true
			i += 2
		}
		i++
	}
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
