package email

import "strings"

// absent says why a text without any @ is not an address.
func (p *pipeline) absent(t text) (mailbox, *Error) {
	if rest, _, ok, err := p.stripPrefix(t); ok && err == nil && strings.TrimSpace(rest.s) == "" {
		return mailbox{}, refuse(ClassEmpty, -1, "there is only a prefix")
	}
	switch absence(t.s) {
	case ClassEmpty:
		return mailbox{}, refuse(ClassEmpty, -1, "there is only punctuation")
	case ClassPlaceholder:
		return mailbox{}, refuse(ClassPlaceholder, t.pos(0), "the text stands for a missing value")
	}
	if plain, ok := deobfuscate(t); ok {
		if !p.n.config.DecodeObfuscated {
			return mailbox{}, refuse(ClassObfuscated, t.pos(0), "the address is spelled out against robots")
		}
		p.repairs |= repairDeobfuscate
		return p.mailbox(plain)
	}
	return mailbox{}, refuse(ClassNoAt, -1, "there is no @")
}
