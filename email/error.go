package email

import "strconv"

// Class says why an input is not an address. The strings are stable: they are
// metric labels, error details and columns of reports.
type Class string

// The classes. The first group means that the cell holds no address, the second
// that only a person can tell which address was meant.
const (
	ClassEmpty       Class = "empty"       // nothing is left once packaging is removed
	ClassPlaceholder Class = "placeholder" // a non-value such as n/a or none@none.com
	ClassNoAt        Class = "no_at"       // text, but no address in it

	ClassMultiple   Class = "multiple"   // two or more different addresses
	ClassAmbiguous  Class = "ambiguous"  // an address that cannot be isolated without guessing
	ClassObfuscated Class = "obfuscated" // "john (at) example (dot) com"
	ClassExtraAt    Class = "extra_at"   // more than one @ outside quotes

	ClassLocalEmpty   Class = "local_empty"    // nothing before the @
	ClassLocalInvalid Class = "local_invalid"  // dots or characters that RFC 5321 does not allow
	ClassLocalQuoted  Class = "local_quoted"   // a valid quoted string, which few systems support
	ClassLocalUnicode Class = "local_unicode"  // non-ASCII that is unsafe or not supported
	ClassLocalTooLong Class = "local_too_long" // more than 64 octets

	ClassDomainEmpty       Class = "domain_empty"        // nothing after the @
	ClassDomainInvalid     Class = "domain_invalid"      // not a host name, or not a name one can own
	ClassDomainSingleLabel Class = "domain_single_label" // no dot, so no public domain
	ClassDomainIP          Class = "domain_ip"           // an IP address or an address literal
	ClassDomainReserved    Class = "domain_reserved"     // a special-use name such as .local
	ClassTLDUnknown        Class = "tld_unknown"         // a top-level domain that does not exist
	ClassDomainTooLong     Class = "domain_too_long"     // a label over 63 octets or a name over 253

	ClassTooLong Class = "too_long" // an address over 254 octets, or an oversized cell

	ClassControlChar   Class = "control_char"   // a line break, NUL or another control character inside
	ClassUnsafeUnicode Class = "unsafe_unicode" // a directional override inside
	ClassBadEncoding   Class = "bad_encoding"   // bytes that are not UTF-8 in the address itself
	ClassFormula       Class = "formula"        // text that a spreadsheet would run

	ClassSyntax Class = "syntax" // any other parse failure
)

// Error says why an input was refused. It never holds any part of the input:
// an input is personal data, and may be an attempt to forge log lines.
type Error struct {
	Class Class
	// Offset is the byte of the input at which the trouble starts, -1 when it
	// lies in no single place.
	Offset int
	// Reason is one of this package's own short texts.
	Reason string
	// Suggestion is a top-level domain close to a mistyped one ("com" for
	// "vom"); only [ClassTLDUnknown] has one, and only when one is close.
	Suggestion string
}

// Error returns class, offset and reason in one line.
func (e *Error) Error() string {
	s := "email address: " + string(e.Class)
	if e.Offset >= 0 {
		s += " at byte " + strconv.Itoa(e.Offset)
	}
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

// refuse builds an Error.
func refuse(c Class, offset int, reason string) *Error {
	return &Error{Class: c, Offset: offset, Reason: reason}
}
