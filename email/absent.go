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
	if isCommand(t.s) {
		return mailbox{}, refuse(ClassFormula, t.pos(0), "the text is a spreadsheet formula")
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
	word := strings.TrimFunc(inner, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) || r == ' ' })
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
	return w != "" && (w[0] == 'x' || w[0] == 'a') && strings.Count(w, w[:1]) == len(w) // xx, aaa
}

// isPlaceholderAddress reports addresses whose both sides fill a field. A word
// on one side alone is not enough: none@ may be a person, and nobody.com a
// company.
func isPlaceholderAddress(local, registrable string) bool {
	if !isPlaceholderWord(local) && len(local) > 1 {
		return false
	}
	name, _, _ := strings.Cut(registrable, ".")
	if len(local) == 1 {
		return name == local
	}
	return isPlaceholderWord(name)
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

var placeholderWords = words(`
	n/a n.a na n.a. none null nil nan undefined unknown tbd tba tbc test tests testing tester
	no nope nobody noone nowhere nothing noemail no-email nomail no-mail noreply-none
	email e-mail mail address dummy fake false foo bar foobar asdf asdfasdf asdfgh qwe qwer
	qwerty abc abcd abcde xyz asd sdf blah sample temp void empty blank invalid missing
	deleted removed redacted s/n s.n sn s/e 123 1234 12345 0 keine kein ninguno ninguna nada
	aucun aucune nessuno nessuna niet geen brak ingen`)

var placeholderTexts = func() map[string]struct{} {
	m := map[string]struct{}{}
	for _, line := range []string{
		"n / a", "n\\a", "not provided", "not available", "not applicable", "not given", "not known", "not set",
		"not specified", "not supplied", "not disclosed", "not found", "no email", "no e-mail", "no mail",
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
