package email

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Address is one normalized address: local part in lower case, domain as
// lower-case A-labels, at most 254 octets. Only a [Normalizer] makes one; the
// zero value means "no address". It is one word long, immutable and safe for
// concurrent use.
//
// An Address prints, logs and encodes as "[address]". It cannot be compared
// with ==; compare what Reveal returns, or keys.
type Address struct {
	_ [0]func()
	redacted
	f sealed
}

// facts is what the normalizer learned about one address, or the domain behind
// the key of a company.
type facts struct {
	key         string // what Key reveals; text is a part of it where nothing was folded
	text        string // local@domain
	at          int    // index of the @ in text, noAt if it is a company's domain
	registrable int    // where in text the registrable domain begins
	repairs     repairs
	flags       flags
}

const noAt = -1

type flags uint8

const (
	flagRole flags = 1 << iota
	flagSMTPUTF8
	flagFree
	flagDisposable
	flagUnknownTLD
)

// has reports a flag; the zero Address has none.
func (a Address) has(f flags) bool { return a.f != nil && (*a.f).flags&f != 0 }

// IsZero reports whether a holds no address.
func (a Address) IsZero() bool { return a.f == nil }

// Reveal returns the address itself, personal data. It is "" for the zero
// value.
func (a Address) Reveal() string {
	if a.f == nil {
		return ""
	}
	return (*a.f).text
}

// Domain returns the host part as A-labels, all labels included.
func (a Address) Domain() string {
	if a.f == nil {
		return ""
	}
	return (*a.f).text[(*a.f).at+1:]
}

// Registrable returns the domain somebody registered: the public suffix plus
// one label. It is the subject of a company lookup.
func (a Address) Registrable() Domain {
	if a.f == nil {
		return Domain{}
	}
	return domainOf((*a.f).text[(*a.f).registrable:], (*a.f).flags)
}

// Role reports whether the local part names a function (sales, support) rather
// than a person. Anything after a plus sign is ignored.
func (a Address) Role() bool { return a.has(flagRole) }

// Free reports whether the domain hands out mailboxes to anybody, so that it
// says nothing about an employer.
func (a Address) Free() bool { return a.has(flagFree) }

// Disposable reports whether the domain hands out throw-away mailboxes.
func (a Address) Disposable() bool { return a.has(flagDisposable) }

// UnknownTLD reports whether the top-level domain is not known. Only a
// normalizer whose TLD check warns or is off accepts such an address.
func (a Address) UnknownTLD() bool { return a.has(flagUnknownTLD) }

// SMTPUTF8 reports whether the local part is not ASCII, so that mail to it
// needs RFC 6531. Few vendors know such addresses.
func (a Address) SMTPUTF8() bool { return a.has(flagSMTPUTF8) }

// Repairs names what was done to the input, in the order of the pipeline, nil
// when it was canonical already. The names are listed in docs/addresses.md.
func (a Address) Repairs() []string {
	if a.f == nil {
		return nil
	}
	return (*a.f).repairs.names()
}

// Suggestion returns the well-known mail domain that the address's domain is
// one slip of the finger away from ("gmail.com" for "gmail.cm"), or "". It is
// a hint for a person: nothing in this program acts on it.
func (a Address) Suggestion() string {
	if a.f == nil || a.Free() {
		return ""
	}
	return suggestDomain(a.Domain())
}

// IdempotencyKey returns the lower-case hex SHA-256 of "address:day", day being
// the UTC date of the given time as 2006-01-02. The address is never folded
// here: two requests for different addresses are two requests. The zero Address
// has no key, so "" is returned.
func IdempotencyKey(a Address, day time.Time) string {
	if a.f == nil {
		return ""
	}
	sum := sha256.Sum256([]byte((*a.f).text + ":" + day.UTC().Format(time.DateOnly)))
	return hex.EncodeToString(sum[:])
}
