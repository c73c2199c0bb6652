package email

import "strings"

// anchor takes <a href="target">label</a> apart. The quotes and the closing tag
// may be missing, the latter only where no other tag follows.
func anchor(t text) (target, label text, ok bool) {
	const open, attribute, shut = "<a ", "href=", "</a>"
	lower := lowerASCII(t.s)
	end := strings.IndexByte(t.s, '>') // of the opening tag
	if end < 0 || !strings.HasPrefix(lower, open) {
		return t, text{}, false
	}
	size := len(strings.TrimSuffix(lower, shut))
	if size == len(lower) && strings.Contains(lower[end:], "<") {
		return t, text{}, false
	}
	href := strings.Index(lower[:end], attribute) + len(attribute)
	if href < len(attribute) || href >= end || end >= size {
		return t, text{}, false
	}
	target = t.cut(href, end)
	if quote := target.s[0]; quote == '"' || quote == '\'' {
		length := strings.IndexByte(target.s[1:], quote)
		if length < 0 {
			return t, text{}, false
		}
		target = target.cut(1, 1+length)
	} else if blank := strings.IndexAny(target.s, " \t"); blank >= 0 {
		target = target.cut(0, blank)
	}
	return target, t.cut(end+1, size), true
}

// markup is the names of the HTML elements that exports leave around a text.
var markup = setOf(strings.Fields("b br div em font i li p pre small span strong td tr u")...)

// stripTags takes one HTML tag without attributes off each end of t.
func stripTags(t text) (text, bool) {
	i, j := 0, len(t.s)
	if end := strings.IndexByte(t.s, '>'); t.s != "" && t.s[0] == '<' && isTag(t.s[:end+1]) {
		i = end + 1
	}
	if start := strings.LastIndexByte(t.s, '<'); start >= i && isTag(t.s[start:]) {
		j = start
	}
	return t.cut(i, j), j-i < len(t.s)
}

// isTag reports the opening, closing or empty tag of an element in markup.
func isTag(s string) bool {
	const longest = len("</strong />")
	if len(s) < 3 || len(s) > longest || s[0] != '<' || s[len(s)-1] != '>' {
		return false
	}
	name, closing := strings.CutPrefix(s[1:len(s)-1], "/")
	if !closing {
		name = strings.TrimRight(strings.TrimSuffix(name, "/"), " ")
	}
	return markup.has(lowerASCII(name))
}
