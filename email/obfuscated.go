package email

import "strings"

// deobfuscate reads "john (at) example [dot] com" and its relatives. It
// succeeds only if something was spelled out and the result is the plain shape
// of an address; whether the address is valid is not looked at.
func deobfuscate(t text) (text, bool) {
	e := newEdit(len(t.s))
	found := false
	for i := 0; i < len(t.s); {
		sign, end := spelledSign(t.s, i)
		if sign == 0 {
			e.copy(t, i, i+1)
			i++
			continue
		}
		found = true
		for len(e.b) > 0 && isBlank(e.b[len(e.b)-1]) {
			e.b, e.at = e.b[:len(e.b)-1], e.at[:len(e.at)-1]
		}
		e.put(string(rune(sign)), t.pos(i))
		for i = end; i < len(t.s) && isBlank(t.s[i]); i++ {
		}
	}
	if !found {
		return t, false
	}
	plain := e.text()
	at := strings.IndexByte(plain.s, '@')
	if at <= 0 || badAtom(plain.s[:at]) >= 0 {
		return t, false
	}
	domain := plain.s[at+1:]
	return plain, strings.Contains(domain, ".") && badAtom(domain) < 0
}

// spelledSign reads a spelled-out @ or dot at i: a word in brackets, between
// blanks, or between underscores or hyphens. It returns 0 if there is none.
func spelledSign(s string, i int) (sign byte, end int) {
	const longest = 12 // with brackets and blanks
	var shut byte
	switch s[i] {
	case '[':
		shut = ']'
	case '(':
		shut = ')'
	case '{':
		shut = '}'
	case '<':
		shut = '>'
	case ' ', '\t':
		shut = ' '
	case '_', '-':
		shut = s[i]
	default:
		return 0, 0
	}
	rest := s[i+1 : min(len(s), i+1+longest)]
	j := strings.IndexByte(rest, shut)
	if j < 0 {
		return 0, 0
	}
	end = i + 1 + j + 1
	if shut == ' ' {
		end-- // the blank may open the next word
	}
	switch strings.ToLower(strings.Trim(rest[:j], " \t")) {
	case "at", "ät", "arroba", "arobase":
		return '@', end
	case "dot", "punkt", "punto", "point", "ponto", "punt":
		return '.', end
	case "@", "a":
		if shut == ']' || shut == ')' || shut == '}' || shut == '>' {
			return '@', end
		}
	case ".":
		if shut == ']' || shut == ')' || shut == '}' {
			return '.', end
		}
	}
	return 0, 0
}
