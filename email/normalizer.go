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
	a, err := n.normalize(raw)
	if err != nil {
		return Address{}, err
	}
	return a, nil
}

func (n *Normalizer) normalize(raw string) (Address, *Error) {
	if len(raw) > MaxInput {
		return Address{}, refuse(ClassTooLong, MaxInput, "the input is longer than any address can be")
	}
	s := strings.TrimSpace(raw)
	if i := strings.LastIndexByte(s, '<'); i >= 0 {
		s = s[i+1:]
	}
	s = strings.TrimRight(s, "> ,;")
	if s == "" {
		return Address{}, refuse(ClassEmpty, -1, "there is no text")
	}
	at := strings.IndexByte(s, '@')
	switch {
	case at < 0:
		return Address{}, refuse(ClassNoAt, -1, "there is no @")
	case at == 0:
		return Address{}, refuse(ClassLocalEmpty, -1, "there is nothing before the @")
	case strings.Count(s, "@") > 1:
		return Address{}, refuse(ClassExtraAt, -1, "there is more than one @")
	case strings.ContainsAny(s[:at], " ,;:<>()[]\\\"\r\n\t"):
		return Address{}, refuse(ClassLocalInvalid, -1, "the local part has a character that is not allowed")
	}
	domain, err := toASCII(s[at+1:])
	if err != nil {
		return Address{}, err
	}
	h, err := n.host(domain)
	if err != nil {
		return Address{}, err
	}
	local := lowerASCII(s[:at])
	f := &facts{text: local + "@" + domain, host: h, at: len(local), profile: n.profile}
	if tag, _, _ := strings.Cut(local, "+"); n.lists.role.has(tag) {
		f.flags |= flagRole
	}
	return Address{f: f}, nil
}

// NormalizeDomain returns the registrable domain in raw, which may be a name as
// people type it or a web address, or an [*Error] that says why there is none.
func (n *Normalizer) NormalizeDomain(raw string) (Domain, error) {
	s := strings.TrimSpace(raw)
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	s, _, _ = strings.Cut(s, "/")
	s = strings.TrimSuffix(s, ".")
	name, err := toASCII(s)
	if err != nil {
		return Domain{}, err
	}
	h, err := n.host(name)
	if err != nil {
		return Domain{}, err
	}
	return h.registrable, nil
}
