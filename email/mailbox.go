package email

import "strings"

// mailbox is a normalized address before it becomes an Address.
type mailbox struct {
	local string
	host  host
}

func (m mailbox) same(other mailbox) bool {
	return m.local == other.local && m.host.name == other.host.name
}

// mailbox reads t, which holds one word with an @ and no packaging.
func (p *pipeline) mailbox(t text) (mailbox, *Error) {
	at := atSign(t.s, 0)
	if at < 0 {
		return p.none(t)
	}
	if bad := strings.Index(t.s, "\ufffd"); bad >= 0 {
		return mailbox{}, refuse(ClassBadEncoding, t.pos(bad), "the address has bytes that are not UTF-8")
	}
	if second := atSign(t.s, at+1); second >= 0 {
		if sep := joint(t.s[at+1 : second]); at > 0 && sep > 0 {
			return p.joined(t.cut(0, at+1+sep), t.cut(at+2+sep, len(t.s)))
		}
		return mailbox{}, refuse(ClassExtraAt, t.pos(second), "there is more than one @")
	}
	if p.repairs&packaging != 0 && halfQuoted(t.s[:at]) {
		return mailbox{}, refuse(ClassAmbiguous, t.pos(0), "half a pair of quotes or brackets is left in the local part")
	}
	local, err := p.local(t.cut(0, at), t.pos(at))
	if err != nil {
		return mailbox{}, err
	}
	typed := t.cut(at+1, len(t.s))
	h, err := p.n.host(typed.s)
	if err != nil {
		err.Offset = typed.pos(min(err.Offset, len(typed.s)))
		return mailbox{}, err
	}
	p.changed(typed.s, h.name, repairIDNA)
	if len(local)+1+len(h.name) > maxAddress {
		return mailbox{}, refuse(ClassTooLong, t.pos(0), "the address is longer than 254 octets")
	}
	if !p.n.config.AcceptPlaceholders && isPlaceholderAddress(local, h.name, h.registrable) {
		return mailbox{}, refuse(ClassPlaceholder, t.pos(0), "the address is one that people type to fill a field")
	}
	return mailbox{local, h}, nil
}

// halfQuoted reports local parts with a quote or a brace at one end only.
func halfQuoted(local string) bool {
	if local == "" {
		return false
	}
	first, last := local[0], local[len(local)-1]
	opens := first == '\'' || first == '`' || first == '{'
	shuts := last == '\'' || last == '`' || last == '}'
	return opens != shuts || opens && len(local) == 1
}

// joint returns where a separator stands in the text between two @ signs if the
// text is a domain, the separator and another local part, and -1 otherwise.
func joint(between string) int {
	sep := strings.IndexAny(between, `/\|&:<>`)
	if sep > 0 && strings.Contains(between[:sep], ".") {
		return sep
	}
	return -1
}

// joined reads two addresses of which a separator makes one word. They must be
// the same.
func (p *pipeline) joined(first, second text) (mailbox, *Error) {
	p.repairs |= repairDedupe
	m, err := p.mailbox(first)
	if sameText(first.s, second.s) {
		return m, err
	}
	if err == nil {
		if other, err := p.mailbox(second); err == nil && other.same(m) {
			return m, nil
		}
	}
	return mailbox{}, refuse(ClassMultiple, second.pos(0), "there is more than one address")
}

// changed notes the repair that turned from into to.
func (p *pipeline) changed(from, to string, other repairs) {
	switch {
	case from == to:
	case isASCII(from):
		p.repairs |= repairLowercase
	default:
		p.repairs |= other
	}
}

// address builds the Address of a mailbox. The role of a local part is that of
// its text before a tag.
func (n *Normalizer) address(m mailbox, whole string, done repairs) Address {
	key := keyText(n.profile, whole, len(m.local))
	if strings.HasSuffix(key, whole) {
		whole = key[len(key)-len(whole):] // one text to keep
	}
	f := facts{
		key:         key,
		text:        whole,
		at:          len(m.local),
		registrable: len(m.local) + 1 + m.host.registrable,
		repairs:     done,
		flags:       m.host.flags,
	}
	base := m.local
	if plus := strings.IndexByte(base, '+'); plus > 0 {
		base = base[:plus]
	}
	if n.lists.role.has(base) {
		f.flags |= flagRole
	}
	if !isASCII(m.local) {
		f.flags |= flagSMTPUTF8
	}
	return Address{f: seal(f)}
}
