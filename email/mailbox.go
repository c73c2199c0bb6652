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
		if at > 0 && joinsAddresses(t.s[at+1:second]) {
			return mailbox{}, refuse(ClassMultiple, t.pos(second), "there is more than one address")
		}
		return mailbox{}, refuse(ClassExtraAt, t.pos(second), "there is more than one @")
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

// joinsAddresses reports whether the text between two @ signs is a domain, a
// separator and another local part.
func joinsAddresses(between string) bool {
	sep := strings.IndexAny(between, `/\|&:<>`)
	return sep > 0 && strings.Contains(between[:sep], ".")
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
	f := facts{
		text:        whole,
		at:          len(m.local),
		registrable: len(m.local) + 1 + m.host.registrable,
		profile:     n.profile,
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
