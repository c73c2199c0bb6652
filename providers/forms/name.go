package forms

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// particles stay in lower case inside a name.
var particles = map[string]bool{
	"af": true, "al": true, "av": true, "bin": true, "bint": true, "da": true, "das": true, "de": true,
	"dei": true, "del": true, "della": true, "der": true, "di": true, "do": true, "dos": true, "du": true,
	"e": true, "el": true, "ibn": true, "la": true, "le": true, "ten": true, "ter": true, "und": true,
	"van": true, "vom": true, "von": true, "y": true, "zu": true, "zum": true, "zur": true,
}

// generations are numbers that follow a name.
var generations = map[string]bool{"ii": true, "iii": true, "iv": true}

// personName title-cases a name that is written in one case; any other case is
// its bearer's choice.
func personName(text string) (string, Verdict) {
	text, verdict := line(text, false)
	if verdict == OK && isOneCase(text) {
		text = titled(strings.ToLower(text))
	}
	return text, verdict
}

func isOneCase(text string) bool {
	lower, upper := true, true
	for _, r := range text {
		lower, upper = lower && unicode.ToLower(r) == r, upper && unicode.ToUpper(r) == r
		if !lower && !upper {
			return false
		}
	}
	return true
}

// titled gives every word of a lower-case text a capital letter: also after a
// hyphen, a full stop, and an apostrophe that follows a single letter (O'Neil,
// D'Angelo, but not Rock's). Particles inside the text keep their case.
func titled(text string) string {
	words := strings.Split(text, " ")
	for i, word := range words {
		if i > 0 && i == len(words)-1 && generations[word] {
			words[i] = strings.ToUpper(word)
			continue
		}
		if i == 0 || i == len(words)-1 || !particles[word] {
			words[i] = titledWord(word)
		}
	}
	return strings.Join(words, " ")
}

func titledWord(word string) string {
	var titled strings.Builder
	capital, letters := true, 0
	for i, r := range word {
		if capital && unicode.IsLetter(r) {
			titled.WriteRune(unicode.ToTitle(r))
			capital, letters = false, 1
			continue
		}
		titled.WriteRune(r)
		switch {
		case unicode.IsLetter(r) || unicode.IsMark(r):
			letters++
		case unicode.IsDigit(r):
			capital = false
		case r == '\'' || r == '’':
			capital = letters == 1 && utf8.RuneCountInString(word[i:]) > 2
			letters = 0
		default:
			capital, letters = true, 0
		}
	}
	return titled.String()
}
