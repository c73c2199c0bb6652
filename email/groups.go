package email

import "strings"

// groups resolves text with comments in parentheses (RFC 5322 CFWS) and text in
// square brackets. A group that spells out an address is the address if there
// is none beside it, and must repeat it otherwise. Other comments are dropped,
// and other text in square brackets stays what it is: words.
func (p *pipeline) groups(t text, depth int) (mailbox, *Error) {
	rest, g, err := p.splitGroups(t)
	if err != nil {
		return mailbox{}, err
	}
	var m mailbox
	switch {
	case atSign(rest.s, 0) >= 0:
		m, err = p.words(rest, depth)
		for _, a := range g.addresses {
			if err == nil {
				err = p.onlyRepeats(m, a, depth+1)
			}
		}
	case g.glued:
		err = refuse(ClassAmbiguous, t.pos(0), "text adjoins the closing bracket")
	case len(g.addresses) > 0:
		m, err = p.agree(g.addresses, depth+1)
	case g.open < 0:
		m, err = p.words(rest, depth)
	}
	if g.open >= 0 && (err == nil || err.Class != ClassDomainEmpty) {
		err = refuse(ClassSyntax, g.open, "a comment is not closed")
	}
	return m, err
}

// groupsOf is what splitGroups took out of a text.
type groupsOf struct {
	addresses []text // contents of the groups that hold an @
	glued     bool   // text adjoins the closing bracket of one of them
	open      int    // input offset of a parenthesis that is never closed, or -1
}

// splitGroups takes the comments and the square brackets that hold an @ out of
// t and leaves a blank in the place of each: a comment separates like white
// space does.
func (p *pipeline) splitGroups(t text) (rest text, g groupsOf, err *Error) {
	e := edit{src: t}
	g.open = -1
	taken := 0
	boring := 0 // up to here no square bracket opens a group with an @
	for i := 0; i < len(t.s); {
		end := -1
		switch t.s[i] {
		case '(':
			var nested int
			if end, nested = commentEnd(t.s, i); nested > maxDepth {
				return text{}, g, refuse(ClassSyntax, t.pos(i), "the comments are nested too deeply")
			}
			if end < 0 {
				g.open = t.pos(i)
				e.replace(i, len(t.s), "")
				return e.text(), g, nil
			}
		case '[':
			if i < boring {
				break
			}
			shut := closing(t.s[i:])
			if shut < 0 {
				boring = len(t.s)
			} else if !isLiteral(t.s, i) && strings.Contains(t.s[i:i+shut], "@") {
				end = i + shut
			} else {
				boring = i + shut
			}
		}
		if end < 0 {
			i = step(t.s, i)
			continue
		}
		if taken++; taken > maxCandidates {
			return text{}, g, refuse(ClassSyntax, t.pos(i), "there are too many comments")
		}
		if strings.Contains(t.s[i:end], "@") {
			p.repairs |= repairWrapper
			g.glued = g.glued || glued(t.s, end+1)
			g.addresses = append(g.addresses, t.cut(i+1, end))
		} else {
			p.repairs |= repairComment
		}
		e.replace(i, end+1, " ")
		i = end + 1
	}
	return e.text(), g, nil
}

// isLiteral reports whether the bracket at i opens an address literal: it
// stands behind an @.
func isLiteral(s string, i int) bool {
	for i > 0 && isBlank(s[i-1]) {
		i--
	}
	return i > 0 && s[i-1] == '@'
}

// commentEnd returns the index of the parenthesis that closes the one at i, or
// -1, and how deeply comments are nested up to where it stopped looking. Quotes
// mean nothing in a comment; a backslash escapes.
func commentEnd(s string, i int) (end, deepest int) {
	depth := 0
	for ; i < len(s) && deepest <= maxDepth; i++ {
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
