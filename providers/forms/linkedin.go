package forms

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The kinds of page that have an address of ours, as the first part of their
// path.
const (
	personPage  = "in"
	companyPage = "company"
)

// linkedIn makes the canonical address of a person's or company's page out of
// any spelling of its address or of the bare handle. The handle of the old
// numbered form (/pub/name/1/2/3), of sales-navigator links and of other pages
// cannot be known.
func linkedIn(text, page string) (string, Verdict) {
	text = strings.TrimSpace(text)
	if scheme, rest, ok := strings.Cut(text, "://"); ok && (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) {
		text = rest
	}
	text, _, _ = strings.Cut(text, "?")
	text, _, _ = strings.Cut(text, "#")
	text = strings.Trim(text, "/")

	host, rest, hasPath := strings.Cut(text, "/")
	lower := strings.ToLower(host)
	switch isLinkedIn := lower == "linkedin.com" || strings.HasSuffix(lower, ".linkedin.com"); {
	case isLinkedIn && hasPath:
		text = rest
	case isLinkedIn, hasPath && strings.Contains(host, "."):
		return "", Wrong
	}

	parts := strings.Split(text, "/")
	isBare := false
	switch kind := strings.ToLower(parts[0]); {
	case kind == page:
		parts = parts[1:]
	case len(parts) > 1 || hasPath && text == rest:
		return "", Wrong // a page of another kind
	default:
		isBare = true
	}
	if len(parts) == 0 {
		return "", Wrong
	}
	// What follows the handle is a language ("/en") or a tab ("/about").
	handle, err := url.PathUnescape(parts[0])
	if err != nil || !isHandle(handle) || isEmptyText(handle) || isBare && !hasLetter(handle) {
		return "", Wrong // a number alone may be any vendor's id
	}
	return "https://www.linkedin.com/" + page + "/" + strings.ToLower(handle), OK
}

// isHandle tells whether the text can be a handle: letters of any script,
// digits, and the few marks that occur.
func isHandle(handle string) bool {
	const longest = 200
	if handle == "" || utf8.RuneCountInString(handle) > longest || !utf8.ValidString(handle) {
		return false
	}
	return !strings.ContainsFunc(handle, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !unicode.IsNumber(r) && !strings.ContainsRune("-_.&'’®™+,", r) && !unicode.IsSymbol(r)
	})
}
