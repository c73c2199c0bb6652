package email

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/secure/bidirule"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/bidi"
	"golang.org/x/text/unicode/norm"
)

// local reads the part before the @, which stands at input offset at.
func (p *pipeline) local(t text, at int) (string, *Error) {
	if t.s == "" {
		return "", refuse(ClassLocalEmpty, at, "there is nothing before the @")
	}
	if t.s[0] == '"' {
		return p.quotedLocal(t)
	}
	return p.dotAtom(t)
}

// dotAtom reads a local part without quotes.
func (p *pipeline) dotAtom(t text) (string, *Error) {
	if i := badAtom(t.s); i >= 0 {
		reason := "the local part has a character that is not allowed"
		if t.s[i] == '.' {
			reason = "the local part has a dot in a wrong place"
		}
		return "", refuse(ClassLocalInvalid, t.pos(i), reason)
	}
	if t.s[0] == '=' {
		return "", refuse(ClassFormula, t.pos(0), "a spreadsheet would run the address as a formula")
	}
	if i := encodedAt(t.s); i >= 0 {
		return "", refuse(ClassAmbiguous, t.pos(i), "the local part may be percent-encoded")
	}
	local := t.s
	switch i := firstNonASCII(local); {
	case i < 0:
		local = lowerASCII(local)
	case p.n.config.RefuseEAI:
		return "", refuse(ClassLocalUnicode, t.pos(i), "the local part is not ASCII")
	case len(local) > 4*maxLocal:
		// No mapping makes it four times shorter, so it stays too long.
	default:
		var reason string
		if local, i, reason = unicodeLocal(local); reason != "" {
			return "", refuse(ClassLocalUnicode, t.pos(i), reason)
		}
	}
	if len(local) > maxLocal {
		return "", refuse(ClassLocalTooLong, t.pos(0), "the local part is longer than 64 octets")
	}
	p.changed(t.s, local, repairUnicode)
	return local, nil
}

// quotedLocal reads a local part that begins with a quote (RFC 5321
// Quoted-string). One that does not need its quotes loses them.
func (p *pipeline) quotedLocal(t text) (string, *Error) {
	if quoteEnd(t.s, 0) != len(t.s)-1 {
		return "", refuse(ClassLocalInvalid, t.pos(0), "the local part is not one quoted string")
	}
	inner := unescapeQuoted(t.cut(1, len(t.s)-1))
	if inner.s == "" {
		return "", refuse(ClassLocalEmpty, t.pos(0), "there is nothing inside the quotes before the @")
	}
	if badAtom(inner.s) < 0 {
		p.repairs |= repairUnquote
		return p.dotAtom(inner)
	}
	if !p.n.config.AcceptQuotedLocal {
		return "", refuse(ClassLocalQuoted, t.pos(0), "the local part needs quotes, which is not supported")
	}
	if i := firstNonASCII(inner.s); i >= 0 {
		return "", refuse(ClassLocalUnicode, inner.pos(i), "the quoted local part is not ASCII")
	}
	if i := strings.IndexByte(inner.s, '\t'); i >= 0 {
		return "", refuse(ClassLocalInvalid, inner.pos(i), "the quoted local part has a character that is not allowed")
	}
	if inner.s[0] == '=' {
		return "", refuse(ClassFormula, t.pos(0), "a spreadsheet would run the address as a formula")
	}
	shortest := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(lowerASCII(inner.s)) + `"`
	if len(shortest) > maxLocal {
		return "", refuse(ClassLocalTooLong, t.pos(0), "the local part is longer than 64 octets")
	}
	p.changed(t.s, shortest, repairUnicode)
	return shortest, nil
}

// badAtom returns the index of the first byte that keeps s from being a
// dot-atom (RFC 5322 3.2.3, non-ASCII as in RFC 6531), or -1.
func badAtom(s string) int {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '.' {
			if i == 0 || i == len(s)-1 || s[i-1] == '.' {
				return i
			}
		} else if !isAtext(c) && c < utf8.RuneSelf {
			return i
		}
	}
	return -1
}

// isAtext reports the characters of an atom (RFC 5322 3.2.3).
func isAtext(c byte) bool { return atext[c] }

var atext = func() (set [256]bool) {
	const chars = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~"
	for i := range len(chars) {
		set[chars[i]] = true
	}
	return set
}()

// encodedAt returns the index of the first run of %XX that decodes to valid
// UTF-8, or -1. Such a run may be meant or may be left over from a link; other
// percent signs are plain characters.
func encodedAt(s string) int {
	for i := 0; i < len(s); i++ {
		b, ok := percentByte(s, i)
		if !ok {
			continue
		}
		run := []byte{b}
		end := i + 3
		for end < len(s) {
			b, ok := percentByte(s, end)
			if !ok {
				break
			}
			run = append(run, b)
			end += 3
		}
		if utf8.Valid(run) {
			return i
		}
		i = end - 1
	}
	return -1
}

func firstNonASCII(s string) int {
	return strings.IndexFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

// username maps width and case and normalizes to NFC, and refuses symbols,
// compatibility characters and unassigned ones (the IdentifierClass of RFC
// 8264). It is the UsernameCaseMapped profile of RFC 8265 without its bidi
// rule, which x/text also applies to strings without right-to-left characters.
var username = precis.NewIdentifier(precis.FoldWidth, precis.LowerCase(), precis.Norm(norm.NFC))

// unicodeLocal normalizes a non-ASCII local part. A reason says why it is
// refused, i being the byte of s that is to blame.
func unicodeLocal(s string) (local string, i int, reason string) {
	for i, r := range s {
		if r < utf8.RuneSelf {
			continue
		}
		// The Kelvin sign and the Greek question mark become ASCII.
		if c := norm.NFC.PropertiesString(s[i:]).Decomposition(); len(c) == 1 {
			return "", i, "the local part has a character that imitates an ASCII one"
		}
		if unicode.IsMark(r) && (i == 0 || s[i-1] == '.') {
			return "", i, "the local part has an accent without a letter"
		}
	}
	local, err := username.String(s)
	if err != nil {
		return "", firstNonASCII(s), "the local part has a character that is not safe in names"
	}
	if again, err := username.String(local); err != nil || again != local || badAtom(local) >= 0 {
		return "", firstNonASCII(s), "the local part changes when it is normalized twice"
	}
	if bidirule.DirectionString(local) == bidi.RightToLeft && !bidirule.ValidString(local) {
		return "", firstNonASCII(s), "the local part mixes writing directions"
	}
	if mixesScripts(local) {
		return "", firstNonASCII(s), "the local part mixes Latin with look-alike letters"
	}
	return local, 0, ""
}

// mixesScripts reports whether s has Latin letters and letters of a script that
// imitates them.
func mixesScripts(s string) bool {
	var latin, other bool
	for _, r := range s {
		latin = latin || unicode.Is(unicode.Latin, r)
		other = other || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee)
	}
	return latin && other
}
