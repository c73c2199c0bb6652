package email

import "strings"

// groups resolves text with comments in parentheses (RFC 5322 CFWS) and text in
// square brackets. A group that spells out an address is the address if there
// is none beside it, and must repeat it otherwise. Other comments are dropped,
// and other text in square brackets stays what it is: words.
func (p *parse) groups(t text, depth int) (mailbox, *Error) {
	rest, groups, err := p.splitGroups(t)
	if err != nil {
		return mailbox{}, err
	}
	var addresses []text
	for _, g := range groups.closed {
		if strings.Contains(g.s, "@") {
			addresses = append(addresses, g)
		}
	}
	var m mailbox
	switch {
	case atSign(rest.s, 0) >= 0:
		if m, err = p.words(rest, depth); err == nil {
			for _, g := range addresses {
				if err = p.onlyRepeats(m, g, depth+1); err != nil {
					break
				}
			}
		}
	case len(addresses) > 0:
		if groups.glued {
			return mailbox{}, refuse(ClassAmbiguous, t.pos(0), "text adjoins the closing bracket")
		}
		m, err = p.agree(addresses, depth+1)
	default:
		return p.none(t)
	}
	if err == nil && groups.open >= 0 {
		err = refuse(ClassSyntax, groups.open, "a comment is not closed")
	}
	return m, err
}

// groupsOf is what splitGroups took out of a text.
type groupsOf struct {
	closed []text
	open   int  // input offset of a parenthesis that is never closed, or -1
	glued  bool // text adjoins a closing bracket of a group with an @
}

// splitGroups takes the comments and the square brackets that hold an @ out of
// t and leaves a blank in the place of each: a comment separates like white
// space does.
func (p *parse) splitGroups(t text) (rest text, g groupsOf, err *Error) {
	e := newEdit(len(t.s))
	g.open = -1
	take := func(from, to int) {
		inner := t.cut(from+1, to)
		g.closed = append(g.closed, inner)
		if strings.Contains(inner.s, "@") {
			p.repairs |= repairWrapper
			g.glued = g.glued || to+1 < len(t.s) && glued(t.s[to+1:])
		} else {
			p.repairs |= repairComment
		}
		e.put(" ", t.pos(from))
	}
	boring := 0
	for i := 0; i < len(t.s); {
		switch t.s[i] {
		case '(':
			end, deepest := commentEnd(t.s, i)
			if deepest > maxDepth {
				return text{}, g, refuse(ClassSyntax, t.pos(i), "the comments are nested too deeply")
			}
			if end < 0 {
				g.open = t.pos(i)
				return e.text(), g, nil
			}
			take(i, end)
			i = end + 1
			continue
		case '[':
			// Up to boring there is no bracket with an @ inside.
			if i >= boring {
				end := i + strings.IndexByte(t.s[i:]+"]", ']')
				literal := strings.HasSuffix(strings.TrimRight(t.s[:i], " \t"), "@")
				if end < len(t.s) && !literal && strings.Contains(t.s[i:end], "@") {
					take(i, end)
					i = end + 1
					continue
				}
				boring = end
			}
		}
		next := step(t.s, i)
		e.copy(t, i, next)
		i = next
	}
	return e.text(), g, nil
}

// commentEnd returns the index of the parenthesis that closes the one at i, or
// -1, and how deeply comments are nested in between. Quotes mean nothing in a
// comment; a backslash escapes.
func commentEnd(s string, i int) (end, deepest int) {
	depth := 0
	for ; i < len(s); i++ {
		switch s[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			if depth--; depth == 0 {
				return i, deepest
			}
		case '\\':
			i++
		}
	}
	return -1, deepest
}
