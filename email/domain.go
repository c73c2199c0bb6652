package email

import (
	"hash/maphash"
	"strings"
	"sync/atomic"

	"golang.org/x/net/publicsuffix"
)

// Domain is the registrable domain of a company: a public suffix plus one
// label, as lower-case A-labels. Only a [Normalizer] makes one; the zero value
// means "no domain". Domains are comparable and print: a company's name is not
// personal data.
type Domain struct {
	name             string
	free, disposable bool
}

// String returns the name, "" for the zero value.
func (d Domain) String() string { return d.name }

// IsZero reports whether d holds no domain.
func (d Domain) IsZero() bool { return d.name == "" }

// Free reports whether the domain hands out mailboxes to anybody, so that it
// does not stand for one company.
func (d Domain) Free() bool { return d.free }

// Disposable reports whether the domain hands out throw-away mailboxes.
func (d Domain) Disposable() bool { return d.disposable }

// host is what the normalizer knows about one full domain.
type host struct {
	typed       string // what was asked for
	name        string // the same in lower-case A-labels
	registrable Domain
	unknownTLD  bool
}

// hosts remembers the domains judged last, one for each slot, so that the many
// people of one company cost one conversion and one look at the lists. It never
// grows.
type hosts struct {
	seed  maphash.Seed
	slots [1 << 11]atomic.Pointer[host]
}

func (h *hosts) slot(typed string) *atomic.Pointer[host] {
	return &h.slots[maphash.String(h.seed, typed)%uint64(len(h.slots))]
}

// find returns what is remembered about a domain, or nil.
func (h *hosts) find(typed string) *host {
	if found := h.slot(typed).Load(); found != nil && found.typed == typed {
		return found
	}
	return nil
}

func (h *hosts) remember(judged *host) {
	if len(judged.typed) <= maxName {
		h.slot(judged.typed).Store(judged)
	}
}

// host converts and judges a domain: is it a host name, does it exist in the
// public name space, who registered it, and what kind of mail domain is it.
// Offsets of errors count bytes of typed.
func (n *Normalizer) host(typed string) (*host, *Error) {
	if h := n.hosts.find(typed); h != nil {
		return h, nil
	}
	name, err := toASCII(typed)
	if err != nil {
		return nil, err
	}
	h := &host{typed: strings.Clone(typed), name: name}
	if name == typed {
		h.name = h.typed
	}
	registrable, err := n.registrable(h)
	if err != nil {
		if !isASCII(typed) {
			err.Offset = 0 // it counts bytes of the converted name
		}
		return nil, err
	}
	h.registrable = Domain{
		name:       registrable,
		free:       listed(n.lists.free, h.name, registrable),
		disposable: listed(n.lists.disposable, h.name, registrable),
	}
	n.hosts.remember(h)
	return h, nil
}

// registrable finds the registrable part of h.name and sets h.unknownTLD.
// Offsets of errors count bytes of the name.
func (n *Normalizer) registrable(h *host) (string, *Error) {
	name := h.name
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return "", refuse(ClassDomainSingleLabel, 0, "the domain has only one label")
	}
	tld := name[dot+1:]
	if specialUse(tld) && !n.reservedOK.has(tld) {
		return "", refuse(ClassDomainReserved, dot+1, "the domain is reserved for special use")
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	if !icann && suffix == tld && !n.knownTLD(tld) {
		h.unknownTLD = true
		if numeric := tld[0] >= '0' && tld[0] <= '9'; numeric || n.tldCheck == TLDError {
			err := refuse(ClassTLDUnknown, dot+1, "there is no such top-level domain")
			err.Suggestion = suggestTLD(tld)
			return "", err
		}
		h.unknownTLD = n.tldCheck == TLDWarn
	}
	if suffix == name {
		if icann {
			return "", refuse(ClassDomainInvalid, 0, "the domain is a public suffix")
		}
		// The operator of a private suffix (a hosting company) has mailboxes
		// right under it, and is itself a customer of a registry.
		for !icann && strings.Contains(suffix, ".") {
			_, parent, _ := strings.Cut(suffix, ".")
			suffix, icann = publicsuffix.PublicSuffix(parent)
		}
	}
	owner := strings.LastIndexByte(name[:len(name)-len(suffix)-1], '.')
	return name[owner+1:], nil
}

// knownTLD reports whether a top-level domain counts as existing although the
// public suffix list lacks it.
func (n *Normalizer) knownTLD(tld string) bool {
	return tld == "example" || specialUse(tld) || n.tldAllow.has(tld)
}

// specialUse reports whether a top-level domain never names a public host (RFC
// 6761, 6762, 7686, 8375, 9476 and the reservation of .internal). The list
// comes before the public suffix list, which knows some of them. Names under
// .example are documentation and accepted.
func specialUse(tld string) bool {
	switch tld {
	case "alt", "arpa", "internal", "invalid", "local", "localhost", "onion", "test":
		return true
	}
	return false
}

// listed looks up the name and its parents, down to the registrable domain.
func listed(s set, name, registrable string) bool {
	for {
		if s.has(name) {
			return true
		}
		if len(name) <= len(registrable) {
			return false
		}
		_, name, _ = strings.Cut(name, ".")
	}
}
