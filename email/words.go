package email

import "strings"

// maxCandidates bounds how many @ signs, brackets and comments of one input are
// looked into. A cell with more is a list, whatever they are.
const maxCandidates = 32

// words resolves a list of words without brackets. One address alone, or the
// same one several times, is fine.
func (p *pipeline) words(t text, depth int) (mailbox, *Error) {
	t = p.joinAtSigns(t)
	var addresses []text
	other := -1   // index of the first word that is no address
	between := -1 // index of the last word that only separates
	count, whole := 0, 0
	for i := 0; i < len(t.s); {
		if isBreak(t.s[i]) {
			i++
			continue
		}
		start := i
		for i < len(t.s) && !isBreak(t.s[i]) {
			i = step(t.s, i)
		}
		count++
		at := addressWord(t.s[start:i])
		if at < 0 {
			if i-start == 1 && strings.IndexByte(`/|&\`, t.s[start]) >= 0 {
				between = start
			} else if other < 0 {
				other = start
			}
			continue
		}
		if at > 0 && at < i-start-1 {
			whole++ // both halves; others are handles or scraps
		}
		addresses = append(addresses, t.cut(start, i))
	}
	switch {
	case len(addresses) == 0:
		return p.none(t)
	case count == 1 && addresses[0].s == t.s:
		return p.mailbox(t)
	case count == 1:
		return p.resolve(addresses[0], depth+1)
	case len(addresses) == 1:
		if p.n.config.SingleExtract && !strings.ContainsAny(t.s, ",;") {
			p.repairs |= repairExtract
			return p.resolve(addresses[0], depth+1)
		}
		return mailbox{}, refuse(ClassAmbiguous, t.pos(max(other, between)), "there are words beside the address")
	case whole < 2:
		return mailbox{}, refuse(ClassAmbiguous, addresses[0].pos(0), "there is text with an @ beside the address")
	}
	m, err := p.agree(addresses, depth+1)
	if err == nil && other >= 0 {
		err = refuse(ClassAmbiguous, t.pos(other), "there are words beside the address")
	}
	return m, err
}

// none says why a text whose @ signs are all inside quotes, or that has none,
// is not an address.
func (p *pipeline) none(t text) (mailbox, *Error) {
	if at := strings.IndexByte(t.s, '@'); at >= 0 {
		return mailbox{}, refuse(ClassAmbiguous, t.pos(at), "the only @ is inside a quoted name")
	}
	return p.absent(t)
}

// joinAtSigns removes the blanks around unquoted @ signs.
func (p *pipeline) joinAtSigns(t text) text {
	e := edit{src: t}
	for at := atSign(t.s, 0); at >= 0; at = atSign(t.s, at+1) {
		start, end := at, at+1
		for start > e.done && isBlank(t.s[start-1]) {
			start--
		}
		for end < len(t.s) && isBlank(t.s[end]) {
			end++
		}
		if end-start > 1 {
			p.repairs |= repairTrim
			e.replace(start, end, "@")
		}
	}
	return e.text()
}

// addressWord returns the index of the @ that makes a word an address: one
// outside quotes, or any if quotes enclose the whole word. It returns -1 if
// there is none.
func addressWord(w string) int {
	at := strings.IndexByte(w, '@')
	if at < 0 || w[0] == '"' && quoteEnd(w, 0) == len(w)-1 {
		return at
	}
	return atSign(w, 0)
}
