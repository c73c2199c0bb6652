package email

import "strings"

// segment is a piece of text between angle brackets, or between one and an end.
type segment struct {
	text
	inside bool
	hasAt  bool // an @ outside quotes; inside brackets also one within quotes
}

// angles resolves text with angle brackets, some of which may be missing: the
// segments inside brackets that hold an @ are the address, and text around them
// is a name, unless it spells out another address.
func (p *parse) angles(t text, depth int) (mailbox, *Error) {
	p.repairs |= repairAngle
	segments, deepest := splitAngles(t)
	if deepest > maxDepth {
		return mailbox{}, refuse(ClassAmbiguous, t.pos(0), "the brackets are nested too deeply")
	}
	var inside, outside []text
	for _, s := range segments {
		switch {
		case s.inside && s.hasAt:
			inside = append(inside, s.text)
		case !s.inside && s.hasAt:
			outside = append(outside, s.text)
		}
	}
	if len(inside) == 0 {
		if len(outside) == 0 {
			return p.none(t)
		}
		return p.besideAngles(t, segments, depth)
	}
	for i, s := range segments {
		if !s.inside || !s.hasAt {
			continue
		}
		if i > 0 && strings.HasSuffix(segments[i-1].s, "@") {
			return mailbox{}, refuse(ClassExtraAt, s.pos(0), "there is an @ before the bracket")
		}
		if i+1 < len(segments) && glued(segments[i+1].s) {
			return mailbox{}, refuse(ClassAmbiguous, segments[i+1].pos(0), "text adjoins the closing bracket")
		}
	}
	m, err := p.agree(inside, depth+1)
	if err != nil {
		return mailbox{}, err
	}
	for _, s := range outside {
		if err := p.onlyRepeats(m, s, depth+1); err != nil {
			return mailbox{}, err
		}
	}
	return m, nil
}

// splitAngles cuts t at its unquoted angle brackets and counts how deeply they
// are nested.
func splitAngles(t text) (segments []segment, deepest int) {
	start, open, depth := 0, false, 0
	for i := 0; i <= len(t.s); {
		if i < len(t.s) && t.s[i] != '<' && t.s[i] != '>' {
			i = step(t.s, i)
			continue
		}
		s := segment{text: t.cut(start, i)}
		s.inside = open || start == 0 && i < len(t.s) && t.s[i] == '>'
		s.hasAt = atSign(s.s, 0) >= 0 || s.inside && strings.Contains(s.s, "@")
		segments = append(segments, s)
		if i < len(t.s) {
			if open = t.s[i] == '<'; open {
				depth++
			} else if depth > 0 {
				depth--
			}
			deepest = max(deepest, depth)
		}
		i++
		start = i
	}
	return segments, deepest
}

// besideAngles resolves an address outside the brackets: what is inside must be
// a name of its own, or nothing.
func (p *parse) besideAngles(t text, segments []segment, depth int) (mailbox, *Error) {
	rest := newEdit(len(t.s))
	for i, s := range segments {
		if !s.inside {
			if i > 0 {
				rest.put(" ", s.pos(0))
			}
			rest.copy(s.text, 0, len(s.s))
			continue
		}
		before := i > 0 && !endsWord(segments[i-1].s)
		after := i+1 < len(segments) && glued(segments[i+1].s)
		if s.s != "" && (before || after) || before && after {
			return mailbox{}, refuse(ClassDomainInvalid, s.pos(0), "there is an angle bracket inside the address")
		}
	}
	return p.resolve(rest.text(), depth+1)
}

// glued reports whether s begins with something that belongs to the text before
// it.
func glued(s string) bool {
	return s != "" && (isAtext(s[0]) || s[0] == '@' || s[0] == '.' || s[0] >= 0x80)
}

// endsWord reports whether a new word can begin behind s.
func endsWord(s string) bool { return s == "" || isBreak(s[len(s)-1]) }

// onlyRepeats refuses text around an address that spells out another address.
// Quoted names are opaque, and an @ alone does not make an address.
func (p *parse) onlyRepeats(m mailbox, around text, depth int) *Error {
	for i := 0; i < len(around.s); {
		start := i
		for i < len(around.s) && !isBreak(around.s[i]) && !strings.ContainsRune(`()[]{}<>"`, rune(around.s[i])) {
			i++
		}
		word := around.cut(start, i)
		if looksLikeAddress(word.s) {
			if other, err := p.resolve(word, depth); err != nil || !other.same(m) {
				return refuse(ClassMultiple, word.pos(0), "there is another address beside the bracketed one")
			}
			p.repairs |= repairDedupe
		}
		if i < len(around.s) {
			i = step(around.s, i)
		}
	}
	return nil
}

// looksLikeAddress reports whether word has text before an @ and a dot inside
// the text behind it.
func looksLikeAddress(word string) bool {
	at := strings.LastIndexByte(word, '@')
	if at <= 0 {
		return false
	}
	dot := strings.IndexByte(word[at+1:], '.')
	return dot > 0 && dot < len(word)-at-2
}
