package email

import "strings"

// NormalizeDomain returns the registrable domain in raw, or an [*Error] that
// says why there is none. Raw may be a name as people type it ("Example.COM.",
// "www.bücher.example") or a web address ("https://www.example.com/path"). An
// e-mail address is refused: it names a person, not a company.
func (n *Normalizer) NormalizeDomain(raw string) (Domain, error) {
	d, err := n.company(raw)
	if err != nil {
		return Domain{}, err
	}
	return d, nil
}

func (n *Normalizer) company(raw string) (Domain, *Error) {
	if err := unreadable(raw); err != nil {
		return Domain{}, err
	}
	p := pipeline{n: n}
	t, err := p.clean(text{s: raw})
	if err != nil {
		return Domain{}, err
	}
	for range maxDepth {
		t = p.trimSeparators(t)
		inner, ok := p.unwrap(t)
		if !ok && strings.HasPrefix(t.s, "<") && strings.HasSuffix(t.s, ">") {
			inner, ok = t.cut(1, len(t.s)-1), true
		}
		if !ok {
			break
		}
		t = inner
	}
	switch class := absence(t.s); class {
	case ClassEmpty:
		return Domain{}, refuse(class, -1, "there is no text")
	case ClassPlaceholder:
		return Domain{}, refuse(class, t.pos(0), "the text stands for a missing value")
	}
	t = hostOfURL(t)
	if bad := strings.Index(t.s, "\ufffd"); bad >= 0 {
		return Domain{}, refuse(ClassBadEncoding, t.pos(bad), "the domain has bytes that are not UTF-8")
	}
	if at := strings.IndexByte(t.s, '@'); at >= 0 {
		return Domain{}, refuse(ClassSyntax, t.pos(at), "there is an @ in the domain")
	}
	h, err := n.host(t.s)
	if err != nil {
		err.Offset = t.pos(min(err.Offset, len(t.s)))
		return Domain{}, err
	}
	return h.company(), nil
}

// hostOfURL cuts the scheme, the port, the path, the query, the fragment and
// the final dot off a web address, and the @ off the front of a mail domain.
func hostOfURL(t text) text {
	if i := strings.Index(t.s, "//"); i == 0 || i > 0 && t.s[i-1] == ':' && isScheme(t.s[:i-1]) {
		t = t.cut(i+2, len(t.s))
	} else if strings.HasPrefix(t.s, "@") {
		t = t.cut(1, len(t.s))
	}
	if i := strings.IndexAny(t.s, `/?#\`); i >= 0 {
		t = t.cut(0, i)
	}
	// The last colon opens a port, unless the host is an IPv6 address.
	if i := strings.LastIndexByte(t.s, ':'); i >= 0 && isPort(t.s[i+1:]) {
		if host := t.s[:i]; !strings.Contains(host, ":") || strings.HasSuffix(host, "]") {
			t = t.cut(0, i)
		}
	}
	if strings.HasSuffix(t.s, ".") {
		t = t.cut(0, len(t.s)-1)
	}
	return t
}

// isScheme reports the name of a URI scheme (RFC 3986 3.1), roughly.
func isScheme(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '+' && r != '-'
	}) < 0
}

// isPort reports the text of a port, which may be empty (RFC 3986 3.2.3).
func isPort(s string) bool { return strings.Trim(s, "0123456789") == "" }
