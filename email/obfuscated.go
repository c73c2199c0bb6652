package email

import "strings"

// maxSpelled bounds the text in which spelled-out signs are looked for: the
// longest address with every sign spelled out is about as long.
const maxSpelled = 2 * maxAddress

// deobfuscate reads "john (at) example [dot] com" and its relatives. It
// succeeds only if something was spelled out and the result has the plain shape
// of an address; whether the address is valid is not looked at. Signs between
// characters that an address may contain ("john-dot-doe@example.com") count
// only if there is no @.
func deobfuscate(t text) (plain text, ok bool) {
	if len(t.s) > maxSpelled {
		return t, false
	}
	e := edit{src: t}
	found := false
	spelled := "[(< \t"
	if !strings.Contains(t.s, "@") {
		spelled += "{_-"
	}
	for i := 0; i < len(t.s); i++ {
		sign, end := "@", i+1
		if t.s[i] != '@' {
			if strings.IndexByte(spelled, t.s[i]) < 0 {
				continue
			}
			if sign, end = spelledSign(t.s, i); sign == "" {
				continue
			}
			found = true
		}
		start := i
		for start > e.done && isBlank(t.s[start-1]) {
			start--
		}
		for end < len(t.s) && isBlank(t.s[end]) {
			end++
		}
		e.replace(start, end, sign)
		i = end - 1
	}
	if !found {
		return t, false
	}
	plain = e.text()
	at := strings.IndexByte(plain.s, '@')
	if at <= 0 || badAtom(plain.s[:at]) >= 0 {
		return t, false
	}
	domain := plain.s[at+1:]
	return plain, strings.Contains(domain, ".") && badAtom(domain) < 0
}

// spelledSign reads a spelled-out @ or dot at i: a word in brackets, between
// blanks, or between underscores or hyphens. It returns "" if there is none.
func spelledSign(s string, i int) (sign string, end int) {
	const longest = 12 // with brackets and blanks
	shut := closer(s[i])
	bracket := shut != s[i]
	rest := s[i+1 : min(len(s), i+1+longest)]
	j := strings.IndexByte(rest, shut)
	if j < 0 {
		return "", 0
	}
	switch strings.ToLower(strings.Trim(rest[:j], " \t")) {
	case "at", "ät", "arroba", "arobase":
		sign = "@"
	case "dot", "punkt", "punto", "point", "ponto", "punt":
		sign = "."
	case "@", "a":
		if bracket {
			sign = "@"
		}
	case ".":
		if bracket {
			sign = "."
		}
	}
	end = i + 1 + j
	if !isBlank(shut) { // a blank may open the next word as well
		end++
	}
	return sign, end
}
