package email

import (
	"strings"
	"unicode/utf8"
)

// parse is the state of one run of the pipeline.
type parse struct {
	n       *Normalizer
	repairs repairs
}

// maxDepth bounds how many layers of packaging are taken off.
const maxDepth = 8

// run takes raw through the pipeline once.
func (p *parse) run(raw string) (mailbox, *Error) {
	if strings.HasPrefix(raw, "\xff\xfe") || strings.HasPrefix(raw, "\xfe\xff") {
		return mailbox{}, refuse(ClassBadEncoding, 0, "the input is UTF-16, not UTF-8")
	}
	t, err := p.clean(text{s: raw})
	if err != nil {
		return mailbox{}, err
	}
	if decoded, changed := unescapeHTML(t); changed {
		p.repairs |= repairEntities
		if t, err = p.clean(decoded); err != nil {
			return mailbox{}, err
		}
	}
	if !strings.Contains(t.s, "@") && strings.Contains(t.s, "%40") {
		decoded, _ := unescapePercent(t)
		p.repairs |= repairPercent
		if t, err = p.clean(decoded); err != nil {
			return mailbox{}, err
		}
	}
	if !strings.Contains(t.s, "@") {
		return p.absent(t)
	}
	return p.resolve(t, 0)
}

// clean scrubs t and refuses what must not even be looked into.
func (p *parse) clean(t text) (text, *Error) {
	t, err := p.scrub(t)
	switch {
	case err != nil:
		return text{}, err
	case t.s == "":
		return text{}, refuse(ClassEmpty, -1, "there is no text")
	case isFormula(t.s):
		return text{}, refuse(ClassFormula, t.pos(0), "the text is a spreadsheet formula")
	}
	return t, nil
}

// resolve finds the one mailbox in t, which holds at least one @. It takes off
// packaging that surrounds all of t, then looks at what stands side by side.
func (p *parse) resolve(t text, depth int) (mailbox, *Error) {
	for ; ; depth++ {
		if depth > maxDepth {
			return mailbox{}, refuse(ClassAmbiguous, t.pos(0), "the address is wrapped too many times")
		}
		t = p.trimSeparators(t)
		if inner, ok := p.unwrap(t); ok {
			t = inner
			continue
		}
		rest, label, ok, err := p.stripPrefix(t)
		if err != nil {
			return mailbox{}, err
		}
		if ok && strings.Contains(label.s, "@") {
			return p.agree([]text{rest, label}, depth+1)
		}
		if !ok {
			break
		}
		t = rest
	}
	if t.s == "" {
		return mailbox{}, refuse(ClassEmpty, -1, "there is no text")
	}
	if plain, ok := deobfuscate(t); ok {
		if !p.n.config.DecodeObfuscated {
			return mailbox{}, refuse(ClassObfuscated, t.pos(0), "the address is spelled out against robots")
		}
		p.repairs |= repairDeobfuscate
		t = plain
	}
	if target, label, ok := markdownLink(t); ok {
		if strings.Contains(label.s, "@") {
			return p.agree([]text{target, label}, depth+1)
		}
		return p.resolve(target, depth+1)
	}
	var angle, group bool
	for i := 0; i < len(t.s); i = step(t.s, i) {
		switch t.s[i] {
		case '<', '>':
			angle = true
		case '(', '[':
			group = true
		}
	}
	switch {
	case angle:
		return p.angles(t, depth)
	case group:
		return p.groups(t, depth)
	}
	return p.words(t, depth)
}

// agree resolves all candidates, which must be the same mailbox.
func (p *parse) agree(candidates []text, depth int) (mailbox, *Error) {
	first, err := p.resolve(candidates[0], depth)
	for _, c := range candidates[1:] {
		if strings.EqualFold(c.s, candidates[0].s) {
			p.repairs |= repairDedupe
			continue
		}
		if err == nil {
			if m, err := p.resolve(c, depth); err == nil && m.same(first) {
				p.repairs |= repairDedupe
				continue
			}
		}
		return mailbox{}, refuse(ClassMultiple, c.pos(0), "there is more than one address")
	}
	return first, err
}

// trimSeparators takes blanks, commas, semicolons, stray double quotes and one
// final dot off the edges.
func (p *parse) trimSeparators(t text) text {
	for again := true; again; {
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

func (p *parse) separator(c byte) {
	if isBlank(c) {
		p.repairs |= repairTrim
	} else {
		p.repairs |= repairSeparator
	}
}

// strayQuotes returns the part of s between double quotes at its edges that
// quote nothing: one without a partner, an escaped one, an empty pair. They are
// what is left of a CSV or JSON string. A leading one goes only if a local part
// can begin right behind it.
func strayQuotes(s string) (i, j int) {
	j = len(s)
	if i < j && (s[i] == '"' || s[i] == '\\') {
		switch next := step(s, i); {
		case s[i] == '"' && next == i+1, // no partner
			s[i] == '"' && next == i+2,  // an empty pair
			s[i] == '\\' && next == i+2: // escaped
			if next < j && (isAtext(s[next]) || s[next] >= utf8.RuneSelf || s[next] == '<') {
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
func (p *parse) unwrap(t text) (text, bool) {
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
	open := s[0]
	shut := map[byte]byte{'(': ')', '[': ']', '{': '}'}[open]
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

// unquoteCSV undoes the doubling of quotes in a CSV field whose outer quotes
// are gone. It reports false if t is not such a field.
func unquoteCSV(t text) (text, bool) {
	if !strings.Contains(t.s, `""`) {
		return t, false
	}
	e := newEdit(len(t.s))
	for i := 0; i < len(t.s); i++ {
		e.copy(t, i, i+1)
		if t.s[i] == '"' {
			if i++; i == len(t.s) || t.s[i] != '"' {
				return t, false
			}
		}
	}
	return e.text(), true
}

// unescapeQuoted removes the backslashes of quoted pairs (RFC 5322 3.2.1).
func unescapeQuoted(t text) text {
	if !strings.Contains(t.s, `\`) {
		return t
	}
	e := newEdit(len(t.s))
	for i := 0; i < len(t.s); i++ {
		if t.s[i] == '\\' && i+1 < len(t.s) {
			i++
		}
		e.copy(t, i, i+1)
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
