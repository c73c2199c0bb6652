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
	name        string // lower-case A-labels
	registrable int    // where in name its registrable part begins
	flags       flags  // those that depend on the domain alone
}

// company returns the registrable domain.
func (h host) company() Domain { return domainOf(h.name[h.registrable:], h.flags) }

func domainOf(registrable string, f flags) Domain {
	return Domain{name: registrable, free: f&flagFree != 0, disposable: f&flagDisposable != 0}
}

// hosts remembers domains that were judged more than once lately, one for each
// slot, so that the many people of one company cost one conversion and one look
// at the lists. It never grows, and a crowd of domains that are seen once does
// not displace the others.
type hosts struct {
	seed  maphash.Seed
	slots [1 << 11]struct {
		last  atomic.Uint64 // hash of the domain judged last
		known atomic.Pointer[known]
	}
}

// known is a judged domain and how it was typed.
type known struct {
	typed string
	host  host
}

// find returns what is remembered about a domain.
func (h *hosts) find(typed string) (host, bool) {
	hash := maphash.String(h.seed, typed)
	if k := h.slots[hash%uint64(len(h.slots))].known.Load(); k != nil && k.typed == typed {
		return k.host, true
	}
	return host{}, false
}

func (h *hosts) remember(typed string, judged host) {
	hash := maphash.String(h.seed, typed)
	slot := &h.slots[hash%uint64(len(h.slots))]
	if len(typed) > maxName || slot.last.Swap(hash) != hash {
		return
	}
	typed = strings.Clone(typed) // it is a part of somebody's address
	if judged.name == typed {
		judged.name = typed
	}
	slot.known.Store(&known{typed, judged})
}

// host converts and judges a domain: is it a host name, does it exist in the
// public name space, who registered it, and what kind of mail domain is it.
// Offsets of errors count bytes of typed.
func (n *Normalizer) host(typed string) (host, *Error) {
	if h, ok := n.hosts.find(typed); ok {
		return h, nil
	}
	name, err := toASCII(typed)
	if err != nil {
		return host{}, err
	}
	h, err := n.judge(name)
	if err != nil {
		if !isASCII(typed) {
			err.Offset = 0 // it counts bytes of the converted name
		}
		return host{}, err
	}
	n.hosts.remember(typed, h)
	return h, nil
}

// judge looks a name that passed toASCII up. Offsets count bytes of the name.
func (n *Normalizer) judge(name string) (host, *Error) {
	h := host{name: name}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return host{}, refuse(ClassDomainSingleLabel, 0, "the domain has only one label")
	}
	tld := name[dot+1:]
	if specialUse(tld) && !n.reservedOK.has(tld) {
		return host{}, refuse(ClassDomainReserved, dot+1, "the domain is reserved for special use")
	}
	suffix, icann := publicsuffix.PublicSuffix(name)
	if !icann && suffix == tld && !n.knownTLD(tld) {
		if numeric := tld[0] >= '0' && tld[0] <= '9'; numeric || n.tldCheck == TLDError {
			err := refuse(ClassTLDUnknown, dot+1, "there is no such top-level domain")
			err.Suggestion = suggestTLD(tld)
			return host{}, err
		}
		if n.tldCheck == TLDWarn {
			h.flags |= flagUnknownTLD
		}
	}
	if suffix == name {
		if icann {
			return host{}, refuse(ClassDomainInvalid, 0, "the domain is a public suffix")
		}
		// The operator of a private suffix (a hosting company) has mailboxes
		// right under it, and is itself a customer of a registry.
		for !icann && strings.Contains(suffix, ".") {
			_, parent, _ := strings.Cut(suffix, ".")
			suffix, icann = publicsuffix.PublicSuffix(parent)
		}
	}
	h.registrable = 1 + strings.LastIndexByte(name[:len(name)-len(suffix)-1], '.')
	if listed(n.lists.free, name, h.registrable) {
		h.flags |= flagFree
	}
	if listed(n.lists.disposable, name, h.registrable) {
		h.flags |= flagDisposable
	}
	return h, nil
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

// listed looks up the name and its parents, down to the registrable part.
func listed(s set, name string, registrable int) bool {
	for i := 0; i <= registrable; {
		if s.has(name[i:]) {
			return true
		}
		i += strings.IndexByte(name[i:], '.') + 1
	}
	return false
}
