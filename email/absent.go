package email

import (
	"strings"
	"unicode"
)

// absent says why a text without any @ is not an address.
func (p *parse) absent(t text) (mailbox, *Error) {
	if rest, _, ok, err := p.stripPrefix(t); ok && err == nil && strings.TrimSpace(rest.s) == "" {
		return mailbox{}, refuse(ClassEmpty, -1, "there is only a prefix")
	}
	switch absence(t.s) {
	case ClassEmpty:
		return mailbox{}, refuse(ClassEmpty, -1, "there is only punctuation")
	case ClassPlaceholder:
		return mailbox{}, refuse(ClassPlaceholder, t.pos(0), "the text stands for a missing value")
	}
	if plain, ok := deobfuscate(t); ok {
		if !p.n.config.DecodeObfuscated {
			return mailbox{}, refuse(ClassObfuscated, t.pos(0), "the address is spelled out against robots")
		}
		p.repairs |= repairDeobfuscate
		return p.mailbox(plain)
	}
	return mailbox{}, refuse(ClassNoAt, -1, "there is no @")
}

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
	if _, ok := placeholderTexts[word]; ok || isPlaceholderWord(word) {
		return ClassPlaceholder
	}
	return ""
}

// isPlaceholderWord reports words that people type to fill a field.
func isPlaceholderWord(w string) bool {
	if _, ok := placeholderWords[w]; ok {
		return true
	}
	if _, ok := nothingWords[w]; ok {
		return true
	}
	return w != "" && (w[0] == 'x' || w[0] == 'a') && strings.Count(w, w[:1]) == len(w) // xx, aaa
}

// isPlaceholderAddress reports addresses whose both sides fill a field: the
// same word twice, or two words for nothing. A word on one side is not enough:
// none@ may be a person, and test@ a mailbox of a company called 123.
func isPlaceholderAddress(local, registrable string) bool {
	name, _, _ := strings.Cut(registrable, ".")
	if name == local {
		return len(local) == 1 || isPlaceholderWord(local)
	}
	_, nothing := nothingWords[local]
	_, nowhere := nothingWords[name]
	return nothing && nowhere
}

// isCommand reports formulas that do not begin with an equals sign: a function
// call or a DDE command behind +, - or @.
func isCommand(s string) bool {
	if !strings.ContainsRune("+-@", rune(s[0])) {
		return false
	}
	if strings.Contains(s, "|") && strings.Contains(s, "!") {
		return true
	}
	call := strings.TrimLeft(s, "+-@")
	name, _, found := strings.Cut(call, "(")
	return found && name != "" && strings.IndexFunc(name, func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '.'
	}) < 0
}

// isFormula reports text that a spreadsheet runs. An encoded word (RFC 2047)
// also begins with an equals sign but does nothing.
func isFormula(s string) bool {
	return s[0] == '=' && !(strings.HasPrefix(s, "=?") && strings.Contains(s, "?="))
}

// nothingWords say that there is nothing.
var nothingWords = words(`
	na none null nil nan undefined unknown no nobody noone no-one nowhere nothing noemail no-email
	nomail no-mail noaddress invalid missing notprovided notavailable empty blank void fake dummy`)

// placeholderWords also fill fields, but may be names of companies.
var placeholderWords = words(`
	n/a n.a tbd tba tbc test tests testing tester nope email e-mail mail address true false yes foo bar foobar
	asdf asdfasdf asdfgh asdasd asd sdf qwe qwer qwerty abc abcd abcde xyz blah sample temp
	deleted removed redacted s/n s.n sn s/e 123 1234 12345 0 keine kein ninguno ninguna nada
	aucun aucune nessuno nessuna niet geen brak ingen`)

var placeholderTexts = func() map[string]struct{} {
	m := map[string]struct{}{}
	for _, line := range []string{
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
	} {
		m[line] = struct{}{}
	}
	return m
}()

func words(list string) map[string]struct{} {
	m := map[string]struct{}{}
	for w := range strings.FieldsSeq(list) {
		m[w] = struct{}{}
	}
	return m
}
