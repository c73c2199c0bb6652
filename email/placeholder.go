package email

import (
	"strings"
	"unicode"
)

// absence returns ClassEmpty for text of brackets, quotes and separators alone,
// ClassPlaceholder for text that stands for a missing value, "" for other text.
func absence(s string) Class {
	const packaging = "()[]{}<>\"'`,; \t"
	inner := strings.Trim(s, packaging)
	if inner == "" {
		return ClassEmpty
	}
	if inner[0] == '#' && strings.ContainsAny(inner[len(inner)-1:], "!?") {
		return ClassPlaceholder // #REF!, #NAME?
	}
	word := strings.TrimFunc(inner, func(r rune) bool {
		return r != unicode.ReplacementChar && (unicode.IsPunct(r) || unicode.IsSymbol(r) || r == ' ')
	})
	const longest = 40
	switch {
	case word == "":
		return ClassPlaceholder // -, --, ?, ***
	case len(word) > longest:
		return ""
	}
	word = strings.Join(strings.Fields(strings.ToLower(word)), " ")
	if placeholderTexts.has(word) || isPlaceholderWord(word) {
		return ClassPlaceholder
	}
	return ""
}

// isPlaceholderWord reports words that people type to fill a field.
func isPlaceholderWord(w string) bool {
	return placeholderWords.has(w) || nothingWords.has(w) ||
		w != "" && (w[0] == 'x' || w[0] == 'a') && strings.Count(w, w[:1]) == len(w) // xx, aaa
}

// isPlaceholderAddress reports addresses whose both sides fill a field: the
// same word twice, or two words for nothing. A word on one side is not enough:
// none@ may be a person, and test@ a mailbox of a company called 123. A domain
// with a subdomain was not made up in a hurry, so it counts only if nothing but
// a public suffix follows its first label.
func isPlaceholderAddress(local, domain string, registrable int) bool {
	if registrable > 0 {
		return false
	}
	name, _, _ := strings.Cut(domain, ".")
	if name == local {
		return len(local) == 1 || isPlaceholderWord(local)
	}
	return nothingWords.has(local) && nothingWords.has(name)
}

// nothingWords say that there is nothing.
var nothingWords = setOf(strings.Fields(`
	na none null nil nan undefined unknown no nobody noone no-one nowhere nothing noemail no-email
	nomail no-mail noaddress invalid missing notprovided notavailable empty blank void fake dummy`)...)

// placeholderWords also fill fields, but may be names of companies.
var placeholderWords = setOf(strings.Fields(`
	n/a n.a tbd tba tbc test tests testing tester nope email e-mail mail address true false yes foo bar foobar
	asdf asdfasdf asdfgh asdasd asd sdf qwe qwer qwerty abc abcd abcde xyz blah sample temp
	deleted removed redacted s/n s.n sn s/e 123 1234 12345 0 keine kein ninguno ninguna nada
	aucun aucune nessuno nessuna niet geen brak ingen`)...)

// placeholderTexts are longer ways to say the same.
var placeholderTexts = setOf(
	"n / a", "n\\a", "n. a", "not provided", "not available", "not applicable", "not given", "not known", "not set",
	"not specified", "not supplied", "not entered", "not recorded", "not disclosed", "not found", "no email", "no e-mail", "no mail",
	"no email address", "no address", "no data", "no value", "none given", "none provided", "has no email",
	"does not have email", "to be determined", "to be confirmed", "to be announced", "to follow", "ask",
	"unavailable", "withheld", "private", "confidential", "anonymous", "do not contact", "do not email",
	"refused", "declined", "required", "optional", "pending", "email address", "e-mail address",
	"enter email", "enter your email", "enter your e-mail", "enter your email address",
	"enter your e-mail address", "enter email address", "enter email here", "type your email",
	"your email", "your e-mail", "your email address", "your e-mail address", "email here",
	"your email here", "mail address", "no tiene", "sin correo", "sin email", "no aplica",
	"keine angabe", "keine e-mail", "keine email", "nicht vorhanden", "unbekannt", "k.a", "k. a",
	"non fourni", "non disponible", "pas d'email", "nessuna email", "não tem", "nao tem", "não informado",
	"нет", "なし", "無し", "无", "無", "不明", "없음",
)
