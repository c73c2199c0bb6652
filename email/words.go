package email

import "strings"

// words resolves a list of words without brackets. One address alone, or the
// same one several times, is fine.
func (p *parse) words(t text, depth int) (mailbox, *Error) {
	t = p.joinAtSigns(t)
	all := splitWords(t)
	var addresses, other []text
	for _, w := range all {
		if isAddressWord(w.s) {
			addresses = append(addresses, w)
		} else {
			other = append(other, w)
		}
	}
	switch {
	case len(addresses) == 0:
		return p.none(t)
	case len(all) == 1 && all[0].s == t.s:
		return p.mailbox(t)
	case len(all) == 1:
		return p.resolve(all[0], depth+1)
	case len(addresses) == 1:
		if p.n.config.SingleExtract && !strings.ContainsAny(t.s, ",;") {
			p.repairs |= repairExtract
			return p.resolve(addresses[0], depth+1)
		}
		return mailbox{}, refuse(ClassAmbiguous, other[0].pos(0), "there are words beside the address")
	}
	whole := 0 // addresses with both halves; the others are handles or scraps
	for _, a := range addresses {
		if at := strings.IndexByte(a.s, '@'); at > 0 && at < len(a.s)-1 {
			whole++
		}
	}
	if whole < 2 {
		return mailbox{}, refuse(ClassAmbiguous, addresses[0].pos(0), "there is text with an @ beside the address")
	}
	m, err := p.agree(addresses, depth+1)
	if err == nil && len(other) > 0 {
		err = refuse(ClassAmbiguous, other[0].pos(0), "there are words beside the address")
	}
	return m, err
}

// none says why a text whose @ signs are all inside quotes, or that has none,
// is not an address.
func (p *parse) none(t text) (mailbox, *Error) {
	if at := strings.IndexByte(t.s, '@'); at >= 0 {
		return mailbox{}, refuse(ClassAmbiguous, t.pos(at), "the only @ is inside a quoted name")
	}
	return p.absent(t)
}

// joinAtSigns removes the blanks around unquoted @ signs.
func (p *parse) joinAtSigns(t text) text {
	if !strings.Contains(t.s, " ") && !strings.Contains(t.s, "\t") {
		return t
	}
	e := newEdit(len(t.s))
	for i := 0; i < len(t.s); {
		next := step(t.s, i)
		if isBlank(t.s[i]) {
			for next < len(t.s) && isBlank(t.s[next]) {
				next++
			}
			before := len(e.b) > 0 && e.b[len(e.b)-1] == '@'
			after := next < len(t.s) && t.s[next] == '@'
			if before || after {
				p.repairs |= repairTrim
				i = next
				continue
			}
		}
		e.copy(t, i, next)
		i = next
	}
	return e.text()
}

// splitWords cuts t at unquoted blanks, commas and semicolons.
func splitWords(t text) []text {
	var words []text
	start := 0
	for i := 0; i <= len(t.s); {
		if i < len(t.s) && !isBreak(t.s[i]) {
			i = step(t.s, i)
			continue
		}
		if i > start {
			words = append(words, t.cut(start, i))
		}
		i++
		start = i
	}
	return words
}

// isAddressWord reports whether a word holds an @: outside quotes, or inside
// quotes that enclose the whole word.
func isAddressWord(w string) bool {
	if atSign(w, 0) >= 0 {
		return true
	}
	return w[0] == '"' && quoteEnd(w, 0) == len(w)-1 && strings.Contains(w, "@")
}
