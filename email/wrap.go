package email

import (
	"strings"
	"unicode/utf8"
)

// trimSeparators takes blanks, commas, semicolons, stray double quotes and a
// final dot off the edges. The number of rounds is bounded, as stray quotes are
// found by reading all of t.
func (p *pipeline) trimSeparators(t text) text {
	for range maxDepth {
		i, j := 0, len(t.s)
		for i < j && isBreak(t.s[i]) {
			p.separator(t.s[i])
			i++
		}
		for i < j && isBreak(t.s[j-1]) {
			j--
			p.separator(t.s[j])
		}
		if s := t.s[i:j]; strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "..") {
			p.repairs |= repairTrailingDot
			j--
		}
		if a, b := strayQuotes(t.s[i:j]); b-a < j-i {
			p.repairs |= repairWrapper
			i, j = i+a, i+b
		}
		if j-i == len(t.s) {
			break
		}
		t = t.cut(i, j)
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
// quote nothing: one without a partner, an escaped one, empty pairs. They are
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
	if j == i || s[j-1] != '"' {
		return i, j
	}
	tail := j // where the empty and lonely quotes at the end begin
	for k := i; k < j; {
		next := step(s, k)
		if next-k <= 2 && s[next-1] == '"' {
			tail = min(tail, k)
		} else {
			tail = j
		}
		k = next
	}
	return i, tail
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

// unwrapHalf takes a bracket or a single quote off an edge of t if its partner
// is missing and no address can begin or end with it. A leading ', ` or { may
// belong to a local part.
func unwrapHalf(t text) (text, bool) {
	s := t.s
	if len(s) < 2 {
		return t, false
	}
	if s[0] == '(' && !strings.Contains(s, ")") || s[0] == '[' && !strings.Contains(s, "]") {
		return t.cut(1, len(s)), true
	}
	if i := strings.IndexByte(")]}", s[len(s)-1]); i >= 0 && strings.IndexByte(s, "([{"[i]) < 0 {
		return t.cut(0, len(s)-1), true
	}
	_, open := utf8.DecodeRuneInString(s)
	_, shut := utf8.DecodeLastRuneInString(s)
	local, _, _ := strings.Cut(s, "@")
	if isSingleQuote(s[len(s)-shut:]) && !isSingleQuote(s[:open]) && badAtom(local) < 0 && !strings.ContainsAny(s, " \t,;") {
		return t.cut(0, len(s)-shut), true
	}
	if open > 1 && isSingleQuote(s[:open]) && !strings.ContainsFunc(s[open:], func(r rune) bool {
		return r >= utf8.RuneSelf && isSingleQuote(string(r))
	}) {
		return t.cut(open, len(s)), true
	}
	return t, false
}

// closing returns the index of the bracket that closes the one at the start of
// s, or -1.
func closing(s string) int {
	open, shut := s[0], closer(s[0])
	depth := 0
	for i := 0; i < len(s); i = step(s, i) {
		switch s[i] {
		case open:
			depth++
		case shut:
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
