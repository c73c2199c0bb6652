package email

import "strings"

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
