package email

import (
	"hash/maphash"
	"strings"
	"sync"
)

// MaxInput is the length in bytes of the longest input that is read at all.
const MaxInput = 2048

// Normalizer turns raw cells into addresses. It is immutable and safe for
// concurrent use; to change its configuration build another one.
type Normalizer struct {
	config     Config
	profile    Profile
	tldCheck   TLDCheck
	tldAllow   set
	reservedOK set
	lists      lists
	hosts      *hosts
}

// New builds a Normalizer and reads the files its lists name. It reports every
// problem of the configuration and of the files at once.
func New(c Config) (*Normalizer, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	l, err := loadLists(c)
	if err != nil {
		return nil, err
	}
	n := &Normalizer{
		config:     c,
		profile:    ProfileNone,
		tldCheck:   TLDError,
		tldAllow:   set{},
		reservedOK: set{},
		lists:      l,
		hosts:      &hosts{seed: maphash.MakeSeed()},
	}
	if c.Fold != "" {
		n.profile = c.Fold
	}
	if c.TLDCheck != "" {
		n.tldCheck = c.TLDCheck
	}
	for _, tld := range c.TLDAllow {
		ascii, _ := asciiLabel(tld)
		n.tldAllow[ascii] = struct{}{}
	}
	for _, tld := range c.ReservedOK {
		n.reservedOK[strings.ToLower(strings.TrimPrefix(tld, "."))] = struct{}{}
	}
	return n, nil
}

// standard is the normalizer of the zero Config, built on first use.
var standard = sync.OnceValue(func() *Normalizer {
	n, err := New(Config{})
	if err != nil {
		panic("email: built-in lists: " + err.Error())
	}
	return n
})

// Normalize normalizes raw with the default configuration.
func Normalize(raw string) (Address, error) { return standard().Normalize(raw) }

// NormalizeDomain normalizes raw with the default configuration.
func NormalizeDomain(raw string) (Domain, error) { return standard().NormalizeDomain(raw) }

// Normalize returns the one address in raw, or an [*Error] that says why there
// is none. Raw may be anything up to megabytes of arbitrary bytes.
func (n *Normalizer) Normalize(raw string) (Address, error) {
	if m, ok := n.plain(raw); ok {
		return n.address(m, raw, 0), nil
	}
	a, err := n.parse(raw)
	if err != nil {
		return Address{}, err
	}
	return a, nil
}

// parse takes raw through the whole pipeline, and the result once more: it must
// come back unchanged. A guard that looks at the input alone could be passed by
// wrapping, and this closes every such way.
func (n *Normalizer) parse(raw string) (Address, *Error) {
	if err := unreadable(raw); err != nil {
		return Address{}, err
	}
	p := pipeline{n: n}
	m, err := p.run(raw)
	if err != nil {
		return Address{}, err
	}
	whole := m.local + "@" + m.host.name
	if !isPlainLocal(m.local) { // a converted domain has come back unchanged already
		again, err := (&pipeline{n: n}).run(whole)
		if err != nil {
			err.Offset = -1
			return Address{}, err
		}
		if !again.same(m) {
			return Address{}, refuse(ClassAmbiguous, -1, "the address changes when it is normalized again")
		}
	}
	return n.address(m, whole, p.repairs), nil
}

// plain is the fast path for what most inputs are: a plain local part and a
// lower-case domain, canonical as they stand. It reports false for everything
// that needs a closer look.
func (n *Normalizer) plain(raw string) (mailbox, bool) {
	at := strings.IndexByte(raw, '@')
	if at <= 0 || at > maxLocal || len(raw) > maxAddress {
		return mailbox{}, false
	}
	local, domain := raw[:at], raw[at+1:]
	if !isPlainLocal(local) {
		return mailbox{}, false
	}
	h, ok := n.hosts.find(domain)
	if !ok {
		var err *Error
		if !isLowerName(domain) {
			return mailbox{}, false
		}
		if h, err = n.host(domain); err != nil {
			return mailbox{}, false
		}
	}
	if h.name != domain || !n.config.AcceptPlaceholders && isPlaceholderAddress(local, domain, h.registrable) {
		return mailbox{}, false
	}
	return mailbox{local, h}, true
}

// isPlainLocal reports dot-atoms of lower-case letters, digits and the
// punctuation that no stage of the pipeline gives a meaning.
func isPlainLocal(local string) bool {
	for i := 0; i < len(local); i++ {
		c := local[i]
		if c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '+' {
			continue
		}
		if c != '.' || i == 0 || i == len(local)-1 || local[i-1] == '.' {
			return false
		}
	}
	return true
}

// isLowerName reports names that hold nothing but what lower-case host names
// are made of.
func isLowerName(name string) bool {
	for i := 0; i < len(name); i++ {
		if !isHostChar(name[i]) && name[i] != '.' {
			return false
		}
	}
	return true
}
