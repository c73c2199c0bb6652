package email

import "strings"

// prefixes stand before an address in links, exports and pasted forms. Other
// schemes (sip, xmpp, ftp) name other things than a mailbox.
var prefixes = []string{"mailto", "smtp", "email", "e-mail", "mail", "email address", "e-mail address"}

// stripPrefix takes one known prefix off t. What follows mailto is a URI (RFC
// 6068): its query is dropped and its escapes are decoded; chat programs put a
// label behind a bar.
func (p *pipeline) stripPrefix(t text) (rest, label text, ok bool, err *Error) {
	colon := strings.IndexByte(t.s, ':')
	if colon < 0 {
		return t, text{}, false, nil
	}
	name := lowerASCII(strings.TrimRight(t.s[:colon], " \t"))
	for _, known := range prefixes {
		ok = ok || name == known
	}
	if !ok {
		return t, text{}, false, nil
	}
	p.repairs |= repairPrefix
	rest = t.cut(colon+1, len(t.s))
	if name != "mailto" {
		return rest, text{}, true, nil
	}
	if bar := strings.IndexByte(rest.s, '|'); bar >= 0 {
		rest, label = rest.cut(0, bar), rest.cut(bar+1, len(rest.s))
	}
	if query := strings.IndexByte(rest.s, '?'); query >= 0 {
		rest = rest.cut(0, query)
	}
	if strings.HasPrefix(rest.s, "//") {
		rest = rest.cut(2, len(rest.s))
	}
	if decoded, changed := unescapePercent(rest); changed {
		p.repairs |= repairPercent
		if rest, err = p.scrub(decoded); err != nil {
			return t, text{}, false, err
		}
	}
	return rest, label, true, nil
}

// link takes [label](target "title") and <a href="target">label</a> apart.
func link(t text) (target, label text, ok bool) {
	if t.s[0] != '[' || t.s[len(t.s)-1] != ')' {
		return anchor(t)
	}
	middle := strings.Index(t.s, "](")
	if middle < 0 || closing(t.s) != middle || closing(t.s[middle+1:]) != len(t.s)-middle-2 {
		return t, text{}, false
	}
	target = t.cut(middle+2, len(t.s)-1)
	if blank := strings.IndexAny(target.s, " \t"); blank >= 0 && strings.Contains(target.s[:blank], "@") {
		title := strings.TrimSpace(target.s[blank:])
		if len(title) > 1 && (title[0] == '"' || title[0] == '\'') && title[len(title)-1] == title[0] {
			target = target.cut(0, blank)
		}
	}
	return target, t.cut(1, middle), true
}
