package email

import (
	"strings"
	"unicode/utf8"
)

// trimSeparators takes blanks, commas, semicolons, stray double quotes and a
// final dot off the edges. The number of rounds is bounded, as a stray quote is
// found by reading all of t.
func (p *pipeline) trimSeparators(t text) text {
	again := true
	for round := 0; again && round < maxDepth; round++ {
		again = false
		for len(t.s) > 0 && isBreak(t.s[0]) {
			p.separator(t.s[0])
			t = t.cut(1, len(t.s))
		}
		for len(t.s) > 0 && isBreak(t.s[len(t.s)-1]) {
			p.separator(t.s[len(t.s)-1])
			t = t.cut(0, len(t.s)-1)
		}
		if strings.HasSuffix(t.s, ".") && !strings.HasSuffix(t.s, "..") {
			p.repairs |= repairTrailingDot
			t = t.cut(0, len(t.s)-1)
			again = true
		}
		if i, j := strayQuotes(t.s); i > 0 || j < len(t.s) {
			p.repairs |= repairWrapper
			t = t.cut(i, j)
			again = true
		}
	}
	return t
}

func (p *pipeline) separator(c byte) {
	if isBlank(c) {
		p.repairs |= repairTrim
	} else {
		p.repairs |= repairSeparator
	}
}

// strayQuotes returns the part of s between double quotes at its edges that
// quote nothing: one without a partner, an escaped one, an empty pair. They are
// what is left of a CSV or JSON string. Leading ones go only if an address or a
// name can begin behind them.
func strayQuotes(s string) (i, j int) {
	j = len(s)
	if s != "" && (s[0] == '"' || s[0] == '\\') {
		next := step(s, 0)
		empty := s[0] == '"' && next == 2
		alone := s[0] == '"' && next == 1 || s[0] == '\\' && next == 2
		if next < j && (empty || alone) {
			c := s[next]
			if isAtext(c) || c >= utf8.RuneSelf || c == '<' || isBreak(c) || empty && c == '"' {
				i = next
			}
		}
	}
	if j > i && s[j-1] == '"' {
		last, k := i, i // last element of s
		for k < j {
			last, k = k, step(s, k)
		}
		if k-last == 1 || k-last == 2 {
			j = last
		}
	}
	return i, j
}

// unwrap takes one pair of quotes or brackets off that encloses all of t.
func (p *pipeline) unwrap(t text) (text, bool) {
	s := t.s
	if len(s) < 2 {
		return t, false
	}
	inner := t.cut(1, len(s)-1)
	switch s[0] {
	case '"':
		if s[len(s)-1] != '"' {
			return t, false
		}
		if unquoted, ok := unquoteCSV(inner); ok {
			inner = unquoted
		} else if quoteEnd(s, 0) == len(s)-1 {
			inner = unescapeQuoted(inner)
		} else {
			return t, false
		}
	case '(', '[', '{':
		if closing(s) != len(s)-1 {
			return t, false
		}
	default:
		_, open := utf8.DecodeRuneInString(s)
		_, shut := utf8.DecodeLastRuneInString(s)
		if !isSingleQuote(s[:open]) || !isSingleQuote(s[len(s)-shut:]) || open+shut >= len(s) {
			return t, false
		}
		inner = t.cut(open, len(s)-shut)
		if quotesEdge(inner.s) {
			return t, false // several quoted words
		}
	}
	p.repairs |= repairWrapper
	return inner, true
}

// closing returns the index of the bracket that closes the one at the start of
// s, or -1.
func closing(s string) int {
	depth := 0
	for i := 0; i < len(s); i = step(s, i) {
		switch s[i] {
		case s[0]:
			depth++
		case closer(s[0]):
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// closer returns the bracket that closes open, and any other byte itself.
func closer(open byte) byte {
	switch open {
	case '(':
		return ')'
	case '[':
		return ']'
	case '{':
		return '}'
	case '<':
		return '>'
	}
	return open
}

// unquoteCSV undoes the doubling of quotes in a CSV field whose outer quotes
// are gone. It reports false if t is not such a field.
func unquoteCSV(t text) (text, bool) {
	if !strings.Contains(t.s, `""`) {
		return t, false
	}
	e := edit{src: t}
	for i := 0; i < len(t.s); i++ {
		if t.s[i] == '"' {
			if i++; i == len(t.s) || t.s[i] != '"' {
				return t, false
			}
			e.replace(i, i+1, "")
		}
	}
	return e.text(), true
}

// unescapeQuoted removes the backslashes of quoted pairs (RFC 5322 3.2.1).
func unescapeQuoted(t text) text {
	e := edit{src: t}
	for i := 0; i < len(t.s); i++ {
		if t.s[i] == '\\' && i+1 < len(t.s) {
			e.replace(i, i+1, "")
			i++
		}
	}
	return e.text()
}

// isSingleQuote reports the marks that stand around a word like single quotes.
// Exports mix them freely.
func isSingleQuote(s string) bool {
	switch s {
	case "'", "`", "\u00b4", "\u2018", "\u2019", "\u201a", "\u201b", "\u2032":
		return true
	}
	return false
}

// quotesEdge reports whether a single quote in s stands beside a word break, so
// that it opens or closes a quotation of its own.
func quotesEdge(s string) bool {
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		if isSingleQuote(s[i:i+size]) && (i > 0 && isBreak(s[i-1]) || i+size < len(s) && isBreak(s[i+size])) {
			return true
		}
		i += size
	}
	return false
}
