package email

import "strings"

// segment is a piece of text between angle brackets, or between one and an end.
type segment struct {
	start, end int
	inside     bool // an innermost pair of brackets is around it, or what is left of one
	opened     bool // the bracket before it opens
	closed     bool // the bracket behind it closes
	hasAt      bool // it has an @ outside quotes; if inside, one within quotes counts too
}

// angles resolves text with angle brackets, some of which may be missing: the
// segments inside brackets that hold an @ are the address, and text around them
// is a name, unless it spells out another address.
func (p *pipeline) angles(t text, depth int) (mailbox, *Error) {
	p.repairs |= repairAngle
	segments, err := splitAngles(t)
	if err != nil {
		return mailbox{}, err
	}
	var inside, outside []text
	named, words := false, -1 // a bracket opens an address; where other words begin
	for _, s := range segments {
		switch {
		case s.inside && s.hasAt:
			inside = append(inside, t.cut(s.start, s.end))
			named = named || s.opened
			if s.opened && !s.closed && s.start > 1 && glued(t.s, s.start-2) {
				return mailbox{}, refuse(ClassAmbiguous, t.pos(s.start-1), "an angle bracket adjoins text and is not closed")
			}
			if s.start > 1 && t.s[s.start-2] == '@' {
				return mailbox{}, refuse(ClassExtraAt, t.pos(s.start-2), "there is an @ before the bracket")
			}
			if glued(t.s, s.end+1) {
				class := ClassAmbiguous
				if looksLikeAddress(t.s[s.end+1:]) {
					class = ClassMultiple
				}
				return mailbox{}, refuse(class, t.pos(s.end+1), "text adjoins the closing bracket")
			}
		case s.hasAt:
			outside = append(outside, t.cut(s.start, s.end))
		case words < 0 && !(s.opened && s.closed) && hasWords(t.s[s.start:s.end]):
			words = s.start
		}
	}
	switch {
	case len(inside) == 0 && len(outside) == 0:
		return p.none(t)
	case len(inside) == 0:
		return p.besideAngles(t, segments, depth)
	case !named && words >= 0:
		return mailbox{}, refuse(ClassAmbiguous, t.pos(words), "there are words beside the address")
	}
	m, err := p.agree(inside, depth+1)
	for _, s := range outside {
		if err == nil {
			err = p.onlyRepeats(m, s, depth+1)
		}
	}
	return m, err
}

// splitAngles cuts t at its unquoted angle brackets.
func splitAngles(t text) ([]segment, *Error) {
	var segments []segment
	start, open, nested := 0, false, 0
	for i := 0; i <= len(t.s); {
		if i < len(t.s) && t.s[i] != '<' && t.s[i] != '>' {
			i = step(t.s, i)
			continue
		}
		s := segment{start: start, end: i, opened: open, closed: i < len(t.s) && t.s[i] == '>'}
		s.inside = open && (s.closed || i == len(t.s)) || start == 0 && s.closed
		s.hasAt = atSign(t.s[start:i], 0) >= 0 || s.inside && strings.Contains(t.s[start:i], "@")
		segments = append(segments, s)
		if i < len(t.s) {
			if open = t.s[i] == '<'; open {
				nested++
			} else {
				nested--
			}
		}
		if nested > maxDepth || len(segments) > maxCandidates {
			return nil, refuse(ClassAmbiguous, t.pos(i), "there are too many angle brackets")
		}
		i++
		start = i
	}
	return segments, nil
}

// besideAngles resolves an address outside the brackets: what is inside must be
// a name of its own, or nothing. Words beside half a pair are not a name.
func (p *pipeline) besideAngles(t text, segments []segment, depth int) (mailbox, *Error) {
	e := edit{src: t}
	class := ClassLocalInvalid // of a bracket before the @
	for _, s := range segments {
		if !s.inside {
			if s.hasAt {
				class = ClassDomainInvalid
			}
			continue
		}
		before := s.start > 1 && !isBreak(t.s[s.start-2]) // behind "<" is s
		after := glued(t.s, s.end+1)
		if s.end > s.start && (before || after) || before && after {
			return mailbox{}, refuse(class, t.pos(s.start), "there is an angle bracket inside the address")
		}
		if !(s.opened && s.closed) && hasWords(t.s[s.start:s.end]) {
			return mailbox{}, refuse(ClassAmbiguous, t.pos(s.start), "there are words beside the address")
		}
		e.replace(max(s.start-1, 0), min(s.end+1, len(t.s)), " ")
	}
	return p.resolve(e.text(), depth+1)
}

// hasWords reports whether s is more than blanks and separators.
func hasWords(s string) bool { return strings.Trim(s, " \t,;") != "" }

// glued reports whether the byte at i belongs to the text before it.
func glued(s string, i int) bool {
	return i < len(s) && (isAtext(s[i]) || s[i] == '@' || s[i] == '.' || s[i] >= 0x80)
}

// onlyRepeats refuses text around an address that spells out another address.
// Quoted names are opaque, and an @ alone does not make an address.
func (p *pipeline) onlyRepeats(m mailbox, around text, depth int) *Error {
	s := around.s
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && !isBreak(s[i]) && strings.IndexByte(`()[]{}<>"`, s[i]) < 0 {
			i++
		}
		if word := around.cut(start, i); looksLikeAddress(word.s) {
			other, err := p.resolve(word, depth)
			if err != nil || !other.same(m) {
				return refuse(ClassMultiple, word.pos(0), "there is another address beside the bracketed one")
			}
			p.repairs |= repairDedupe
		}
		if i < len(s) {
			i = step(s, i)
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
