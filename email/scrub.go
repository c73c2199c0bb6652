package email

import "unicode/utf8"

// scrub removes white space and invisible characters from the edges and
// invisible ones from the inside, and turns look-alikes of ASCII structure into
// ASCII. Control characters and directional overrides that are left are errors.
func (p *pipeline) scrub(t text) (text, *Error) {
	t = p.trim(t)
	e := edit{src: t}
	prev := rune(0) // last rune that was kept
	for i := 0; i < len(t.s); {
		if isPrintable(t.s[i]) {
			for i < len(t.s) && isPrintable(t.s[i]) {
				i++
			}
			prev = rune(t.s[i-1])
			continue
		}
		r, size := utf8.DecodeRuneInString(t.s[i:])
		next := i + size
		switch kind := kindOf(r); {
		case r == utf8.RuneError && size == 1:
			for next < len(t.s) && startsInvalid(t.s[next:]) {
				next++
			}
			e.replace(i, next, "\ufffd")
			prev = r
		case kind == kindControl:
			return text{}, refuse(ClassControlChar, t.pos(i), "there is a control character inside")
		case kind == kindOverride:
			return text{}, refuse(ClassUnsafeUnicode, t.pos(i), "there is a directional override inside")
		case kind == kindInvisible, kind == kindJoiner && !joins(prev, t.s[next:]):
			e.replace(i, next, "")
			p.repairs |= repairInvisible
		case kind == kindSpace:
			e.replace(i, next, " ")
			p.repairs |= repairInvisible
			prev = ' '
		case kind == kindStructure:
			c := toStructure(r)
			e.replace(i, next, string(rune(c)))
			p.repairs |= repairWidth
			prev = rune(c)
		default:
			prev = r
		}
		i = next
	}
	return p.trim(e.text()), nil
}

// joins reports whether a joiner between prev and rest can mean something: it
// does between letters of scripts that join, and not beside ASCII.
func joins(prev rune, rest string) bool {
	next, _ := utf8.DecodeRuneInString(rest)
	return prev >= utf8.RuneSelf && next >= utf8.RuneSelf
}

// trim cuts white space and invisible characters off both edges.
func (p *pipeline) trim(t text) text {
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

func (p *pipeline) trimmed(r rune) {
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
	switch kindOf(r) {
	case kindSpace, kindInvisible, kindJoiner, kindOverride:
		return true
	}
	return r == '\u0085' || r == '\u2028' || r == '\u2029'
}

// isPrintable reports ASCII that is kept as it is, TAB included.
func isPrintable(c byte) bool { return c >= ' ' && c < 0x7f || c == '\t' }

func startsInvalid(s string) bool {
	r, size := utf8.DecodeRuneInString(s)
	return r == utf8.RuneError && size == 1
}

// kind says how a rune is treated before anything else is looked at.
type kind uint8

const (
	kindText      kind = iota
	kindControl        // C0, DEL, C1, line and paragraph separator
	kindSpace          // looks like a blank
	kindInvisible      // shows nothing and means nothing in an address
	kindJoiner         // ZWNJ and ZWJ, which mean something in some scripts
	kindOverride       // makes text read in another order than it is stored
	kindStructure      // stands for an ASCII character, see toStructure
)

func kindOf(r rune) kind {
	switch {
	case r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x2028 || r == 0x2029:
		return kindControl
	case r >= 0xc0 && r < 0x34f: // most letters end here
		return kindText
	case r == 0xa0 || r == 0x1680 || r >= 0x2000 && r <= 0x200a || r == 0x202f || r == 0x205f ||
		r == 0x2800 || r == 0x3000: // category Zs, and the empty Braille pattern
		return kindSpace
	case r == 0x200c || r == 0x200d:
		return kindJoiner
	case r >= 0x202a && r <= 0x202e: // embeddings too
		return kindOverride
	case r == 0xad, // soft hyphen
		r == 0x34f,                  // combining grapheme joiner
		r == 0x61c,                  // Arabic letter mark
		r == 0x180e,                 // Mongolian vowel separator
		r >= 0x200b && r < 0x2010,   // zero width space, directional marks
		r >= 0x2060 && r < 0x2070,   // word joiner, invisible operators, isolates
		r >= 0xfe00 && r < 0xfe10,   // variation selectors
		r == 0xfeff,                 // byte order mark
		r >= 0xe0000 && r < 0xe1000: // tags, more variation selectors
		return kindInvisible
	case toStructure(r) != 0:
		return kindStructure
	}
	return kindText
}

// toStructure returns the ASCII character that r stands for, or 0: full-width
// and small forms, dots, separators and brackets of other scripts, and double
// quotes. Single quotes stay, as they may be a damaged apostrophe.
func toStructure(r rune) byte {
	switch {
	case r >= 0xff01 && r <= 0xff5e:
		return byte(r - 0xff01 + '!')
	case r >= 0x3020 && r < 0xfe50 || r > 0xff64:
		return 0 // most other letters are here
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
