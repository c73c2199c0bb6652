package email

import (
	"net/netip"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
	"golang.org/x/text/unicode/norm"
)

// Limits of RFC 1035 (label, name) and RFC 5321 (local part, path without its
// angle brackets), in octets.
const (
	maxLabel   = 63
	maxName    = 253
	maxLocal   = 64
	maxAddress = 254
)

// lookup maps and checks names for look-up (UTS 46, non-transitional, so that
// ß, final sigma and the joiners keep their meaning). Its results are checked
// again in unicodeName: x/net accepts more than IDNA 2008 does.
var lookup = idna.New(
	idna.MapForLookup(),
	idna.Transitional(false),
	idna.StrictDomainName(true),
	idna.CheckHyphens(true),
	idna.CheckJoiners(true),
	idna.BidiRule(),
)

// toASCII returns the name in lower-case A-labels, checked for syntax and
// length only: it may be a single label or a name that does not exist. The
// offset of an error counts bytes of name.
func toASCII(name string) (string, *Error) {
	if name == "" {
		return "", refuse(ClassDomainEmpty, 0, "there is no domain")
	}
	if name[0] == '[' && name[len(name)-1] == ']' {
		return "", refuse(ClassDomainIP, 0, "the domain is an address literal")
	}
	if isIP(name) {
		return "", refuse(ClassDomainIP, 0, "the domain is an IP address")
	}
	ascii := lowerASCII(name)
	if !isASCII(ascii) || strings.HasPrefix(ascii, acePrefix) || strings.Contains(ascii, "."+acePrefix) {
		return unicodeName(ascii)
	}
	if err := checkName(ascii); err != nil {
		return "", err
	}
	return ascii, nil
}

const acePrefix = "xn--"

// capitalSharpS is the capital of ß. Unicode 15.0, whose tables x/net has, maps
// it to ss, which is another company's name; since 15.1 it is mapped to ß.
const capitalSharpS = "\u1e9e"

// unicodeName converts a name with non-ASCII or xn-- labels and adds the checks
// that x/net v0.62.0 lacks.
func unicodeName(name string) (string, *Error) {
	// A label that is too long before the conversion is too long after it.
	// Refusing it here also bounds the cost of the conversion.
	if utf8.RuneCountInString(name) > maxName {
		return "", refuse(ClassDomainTooLong, 0, "the domain is longer than 253 octets")
	}
	start := 0
	for label := range strings.SplitSeq(name, ".") {
		if utf8.RuneCountInString(label) > maxLabel {
			return "", refuse(ClassDomainTooLong, start, "a label of the domain is longer than 63 octets")
		}
		// golang/go#81116: Punycode is ASCII, whatever the rest maps to.
		if !isASCII(label) && looksEncoded(label) {
			return "", refuse(ClassDomainInvalid, start, "an encoded label contains non-ASCII characters")
		}
		start += len(label) + 1
	}
	ascii, err := lookup.ToASCII(strings.ReplaceAll(name, capitalSharpS, "ß"))
	if err != nil {
		return "", refuse(ClassDomainInvalid, 0, "the domain is not a valid internationalized name")
	}
	// golang/go#81525: the bidi rule is applied before the mapping, so that a
	// result may not survive a second pass.
	if again, err := lookup.ToASCII(ascii); err != nil || again != ascii {
		return "", refuse(ClassDomainInvalid, 0, "the domain is not a valid internationalized name")
	}
	readable, err := lookup.ToUnicode(ascii)
	if err != nil {
		return "", refuse(ClassDomainInvalid, 0, "the domain is not a valid internationalized name")
	}
	for label := range strings.SplitSeq(readable, ".") {
		if reason := checkULabel(label); reason != "" {
			return "", refuse(ClassDomainInvalid, 0, reason)
		}
	}
	if err := checkName(ascii); err != nil {
		err.Offset = 0 // an offset into the converted name says nothing about the input
		return "", err
	}
	return ascii, nil
}

// looksEncoded reports whether the mapping makes a label begin with xn--. Four
// characters are enough for it.
func looksEncoded(label string) bool {
	end := 0
	for range len(acePrefix) {
		_, size := utf8.DecodeRuneInString(label[end:])
		end += size
	}
	return strings.HasPrefix(lowerASCII(norm.NFKC.String(label[:end])), acePrefix)
}

// checkULabel applies what IDNA 2008 (RFC 5892) asks of a label and UTS 46 does
// not: no symbols, no reserved hyphens (golang/go#81026), and characters that
// are allowed in some contexts only.
func checkULabel(label string) (problem string) {
	if isASCII(label) {
		return ""
	}
	runes := []rune(label)
	if len(runes) >= 4 && runes[2] == '-' && runes[3] == '-' {
		return "the domain has hyphens in reserved places"
	}
	for i, r := range runes {
		if r < utf8.RuneSelf {
			continue
		}
		allowed, listed := inContext(runes, i)
		if !listed {
			allowed = unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r)
		}
		if !allowed {
			return "the domain has a symbol that no registry allows"
		}
	}
	return ""
}

// inContext applies the contextual rules of RFC 5892 appendix A. Joiners
// (rules 1 and 2) were checked by the conversion already.
func inContext(label []rune, i int) (allowed, listed bool) {
	is := func(at int, table ...*unicode.RangeTable) bool {
		return at >= 0 && at < len(label) && unicode.In(label[at], table...)
	}
	switch r := label[i]; {
	case r == '\u200c' || r == '\u200d':
		return true, true
	case r == '\u00b7': // middle dot: Catalan l·l
		return i > 0 && i+1 < len(label) && label[i-1] == 'l' && label[i+1] == 'l', true
	case r == '\u0375': // Greek numeral sign
		return is(i+1, unicode.Greek), true
	case r == '\u05f3' || r == '\u05f4': // Hebrew geresh and gershayim
		return is(i-1, unicode.Hebrew), true
	case r == '\u30fb': // Katakana middle dot
		for j := range label {
			if is(j, unicode.Hiragana, unicode.Katakana, unicode.Han) {
				return true, true
			}
		}
		return false, true
	case r >= '\u0660' && r <= '\u0669': // Arabic-Indic digits do not mix with
		return !hasDigits(label, '\u06f0'), true
	case r >= '\u06f0' && r <= '\u06f9': // extended ones
		return !hasDigits(label, '\u0660'), true
	}
	return false, false
}

func hasDigits(label []rune, zero rune) bool {
	for _, r := range label {
		if r >= zero && r <= zero+9 {
			return true
		}
	}
	return false
}

// checkName checks an ASCII name in lower case: letters, digits and inner
// hyphens (RFC 5321 Domain), and the lengths.
func checkName(name string) *Error {
	start := 0
	var tooLong *Error
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			if !isHostChar(name[i]) {
				return refuse(ClassDomainInvalid, i, "the domain has a character that host names do not have")
			}
			continue
		}
		label := name[start:i]
		switch {
		case label == "":
			return refuse(ClassDomainInvalid, start, "the domain has an empty label")
		case label[0] == '-' || label[len(label)-1] == '-':
			return refuse(ClassDomainInvalid, start, "a label of the domain begins or ends with a hyphen")
		case len(label) >= 4 && label[2:4] == "--" && label[:4] != acePrefix:
			return refuse(ClassDomainInvalid, start, "the domain has hyphens in reserved places")
		case len(label) > maxLabel && tooLong == nil:
			tooLong = refuse(ClassDomainTooLong, start, "a label of the domain is longer than 63 octets")
		}
		start = i + 1
	}
	if tooLong == nil && len(name) > maxName {
		tooLong = refuse(ClassDomainTooLong, 0, "the domain is longer than 253 octets")
	}
	return tooLong
}

// asciiLabel returns a single label as an A-label.
func asciiLabel(label string) (string, bool) {
	ascii, err := toASCII(strings.TrimPrefix(label, "."))
	return ascii, err == nil && !strings.Contains(ascii, ".")
}

// isIP reports whether name is an IPv6 address or nothing but numbers and dots.
func isIP(name string) bool {
	if strings.Contains(name, ":") {
		_, err := netip.ParseAddr(name)
		return err == nil
	}
	dots := 0
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] >= '0' && name[i] <= '9':
		case name[i] == '.' && i > 0 && name[i-1] != '.':
			dots++
		default:
			return false
		}
	}
	return dots > 0 && name[len(name)-1] != '.'
}

func isHostChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-'
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lowerASCII lowers A to Z only. Full lower-casing is the business of IDNA and
// PRECIS: strings.ToLower makes an i of the Turkish capital dotted I.
func lowerASCII(s string) string {
	for i := 0; i < len(s); i++ {
		if s[i] >= 'A' && s[i] <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
