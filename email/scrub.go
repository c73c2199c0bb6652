package email

import (
	"unicode"
	"unicode/utf8"
)

// scrub removes white space and invisible characters from the edges and
// invisible ones from the inside, and turns look-alikes of ASCII structure into
// ASCII. Control characters and directional overrides that are left are errors.
func (p *parse) scrub(t text) (text, *Error) {
	t = p.trim(t)
	if isPrintable(t.s) {
		return t, nil
	}
	out := newEdit(len(t.s))
	prev := rune(0) // last rune that was kept
	for i := 0; i < len(t.s); {
		r, size := utf8.DecodeRuneInString(t.s[i:])
		switch {
		case r >= 0x20 && r < 0x7f || r == '\t':
			out.copy(t, i, i+1)
			prev = r
		case r == utf8.RuneError:
			out.put("\ufffd", t.pos(i))
			prev = r
		case isControl(r):
			return text{}, refuse(ClassControlChar, t.pos(i), "there is a control character inside")
		case isOverride(r):
			return text{}, refuse(ClassUnsafeUnicode, t.pos(i), "there is a directional override inside")
		case isJoiner(r):
			// Joiners carry meaning between letters of scripts that join, and
			// none beside ASCII.
			next, _ := utf8.DecodeRuneInString(t.s[i+size:])
			if prev >= utf8.RuneSelf && next >= utf8.RuneSelf {
				out.copy(t, i, i+size)
			} else {
				p.repairs |= repairInvisible
			}
		case isInvisible(r):
			p.repairs |= repairInvisible
		case isSpace(r):
			out.put(" ", t.pos(i))
			p.repairs |= repairInvisible
			prev = ' '
		default:
			if c := toStructure(r); c != 0 {
				out.put(string(rune(c)), t.pos(i))
				p.repairs |= repairWidth
				prev = rune(c)
			} else {
				out.copy(t, i, i+size)
				prev = r
			}
		}
		i += size
	}
	return p.trim(out.text()), nil
}

// trim cuts white space and invisible characters off both edges.
func (p *parse) trim(t text) text {
	i, j := 0, len(t.s)
	for i < j {
		r, size := utf8.DecodeRuneInString(t.s[i:j])
		if !isEdge(r) {
			break
		}
		p.trimmed(r)
		i += size
	}
	for i < j {
		r, size := utf8.DecodeLastRuneInString(t.s[i:j])
		if !isEdge(r) {
			break
		}
		p.trimmed(r)
		j -= size
	}
	return t.cut(i, j)
}

func (p *parse) trimmed(r rune) {
	if r < utf8.RuneSelf {
		p.repairs |= repairTrim
	} else {
		p.repairs |= repairInvisible
	}
}

func isEdge(r rune) bool {
	if r < utf8.RuneSelf {
		return r == ' ' || r >= '\t' && r <= '\r'
	}
	return isSpace(r) || isInvisible(r) || isJoiner(r) || isOverride(r) ||
		r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isPrintable reports whether s is ASCII without control characters, TAB aside.
func isPrintable(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 0x7f || c < 0x20 && c != '\t' {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r <= 0x9f || r == '\u2028' || r == '\u2029'
}

// isOverride reports the embeddings and overrides, which make text read in
// another order than it is stored.
func isOverride(r rune) bool { return r >= '\u202a' && r <= '\u202e' }

func isJoiner(r rune) bool { return r == '\u200c' || r == '\u200d' }

// isInvisible reports characters that show nothing and mean nothing in an
// address.
func isInvisible(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, // soft hyphen
		r == 0x34f,               // combining grapheme joiner
		r == 0x61c,               // Arabic letter mark
		r == 0x180e,              // Mongolian vowel separator
		r == 0x200b,              // zero width space
		r == 0x200e, r == 0x200f, // directional marks
		r >= 0x2060 && r <= 0x206f,   // word joiner, invisible operators, isolates
		r >= 0xfe00 && r <= 0xfe0f,   // variation selectors
		r == 0xfeff,                  // byte order mark
		r >= 0xe0000 && r <= 0xe0fff: // tags, more variation selectors
		return true
	}
	return false
}

// isSpace reports non-ASCII characters that look like a blank.
func isSpace(r rune) bool {
	return r >= 0xa0 && (unicode.Is(unicode.Zs, r) || r == '\u2800')
}

// toStructure returns the ASCII character that r stands for, or 0: full-width
// and small forms, dots, separators and brackets of other scripts, and double
// quotes. Single quotes stay, as they may be a damaged apostrophe.
func toStructure(r rune) byte {
	if r >= 0xff01 && r <= 0xff5e {
		return byte(r - 0xff01 + '!')
	}
	return structure[r]
}

var structure = map[rune]byte{
	0x201c: '"', 0x201d: '"', 0x201e: '"', 0x201f: '"', // curly double quotes
	0x00ab: '<', 0x00bb: '>', 0x2039: '<', 0x203a: '>', // guillemets
	0x2329: '<', 0x232a: '>', 0x276e: '<', 0x276f: '>', 0x27e8: '<', 0x27e9: '>', 0x27ea: '<', 0x27eb: '>',
	0x3008: '<', 0x3009: '>', 0x300a: '<', 0x300b: '>', // CJK angle brackets
	0x300c: '[', 0x300d: ']', 0x300e: '[', 0x300f: ']', 0x3010: '[', 0x3011: ']', // CJK brackets
	0x3014: '[', 0x3015: ']', 0x3016: '[', 0x3017: ']', 0x3018: '[', 0x3019: ']', 0x301a: '[', 0x301b: ']',
	0x3001: ',', 0x3002: '.', 0xff61: '.', 0xff62: '[', 0xff63: ']', 0xff64: ',', // CJK dots and commas
	0x060c: ',', 0x061b: ';', // Arabic comma and semicolon
	0xfe50: ',', 0xfe51: ',', 0xfe52: '.', 0xfe54: ';', 0xfe55: ':', // small forms
	0xfe59: '(', 0xfe5a: ')', 0xfe5b: '{', 0xfe5c: '}', 0xfe5d: '[', 0xfe5e: ']', 0xfe64: '<', 0xfe65: '>', 0xfe6b: '@',
}
