package forms

import (
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths in characters. A line that is longer is not what its field promises;
// a long text is cut.
const (
	maxLine     = 500
	maxLongText = 1000
)

// emptyTexts are spellings of "nothing", folded. A text without a letter or
// digit is nothing, too.
var emptyTexts = map[string]bool{
	"null": true, "none": true, "nil": true, "undefined": true, "n/a": true, "n.a.": true,
	"#n/a": true, "not available": true, "not applicable": true, "unknown": true,
}

// emptyStarts are the bytes that emptyTexts begin with, in either case: few
// other texts do.
var emptyStarts = func() (starts [256]bool) {
	for text := range emptyTexts {
		starts[text[0]], starts[strings.ToUpper(text)[0]] = true, true
	}
	return starts
}()

func isEmptyText(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" {
		return true
	}
	if emptyStarts[text[0]] &&
		(len(text) <= len("not applicable") && emptyTexts[strings.ToLower(text)] || text == "NaN") { // Nan is a name
		return true
	}
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r) || r == '*'
	})
}

// isMasked tells whether the text has its characters replaced by stars or
// bullets, as previews of unbought values have.
func isMasked(text string) bool {
	if strings.IndexByte(text, '*') >= 0 && (strings.Contains(text, "**") || strings.Contains(text, "*@")) {
		return true
	}
	return strings.Contains(text, "••")
}

// foldSpace replaces each run of white space by one blank, trims the ends and
// drops characters that show nothing.
func foldSpace(text string) string {
	if isFolded(text) {
		return text
	}
	var folded strings.Builder
	pending := false
	for _, r := range text {
		switch {
		case unicode.IsSpace(r):
			pending = folded.Len() > 0
		case isInvisible(r):
		default:
			if pending {
				folded.WriteByte(' ')
				pending = false
			}
			folded.WriteRune(r)
		}
	}
	return folded.String()
}

// isFolded tells whether a text of printable ASCII is folded already, as nearly
// all are.
func isFolded(text string) bool {
	last := byte(' ')
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || c == ' ' && last == ' ' {
			return false
		}
		last = text[i]
	}
	return last != ' '
}

// isInvisible tells whether a character is a control or a formatting mark that
// changes nothing but what a reader believes to see. The joiners stay: words of
// some scripts need them.
func isInvisible(r rune) bool {
	const zeroWidthNonJoiner, zeroWidthJoiner = '\u200c', '\u200d'
	return unicode.Is(unicode.Cc, r) ||
		unicode.Is(unicode.Cf, r) && r != zeroWidthNonJoiner && r != zeroWidthJoiner
}

// isBroken tells whether characters were lost when the text was encoded.
func isBroken(text string) bool { return strings.ContainsRune(text, utf8.RuneError) }

func line(text string, titleCase bool) (string, Verdict) {
	text = foldSpace(withoutEntities(text))
	if len(text) > maxLine && utf8.RuneCountInString(text) > maxLine || isBroken(text) || isRefuse(text) {
		return "", Wrong
	}
	if titleCase && text == strings.ToLower(text) {
		text = titled(text)
	}
	return text, OK
}

func lowerLine(text string) (string, Verdict) {
	text, verdict := line(text, false)
	return strings.ToLower(text), verdict
}

func hasLetter(text string) bool { return strings.ContainsFunc(text, unicode.IsLetter) }

// isRefuse tells whether a program left something of its own in a line: markup,
// the print of an object, a place that a template did not fill.
func isRefuse(line string) bool {
	return strings.ContainsAny(line, "<[{") &&
		(markup.MatchString(line) || strings.Contains(line, "[object ") || strings.Contains(line, "{{"))
}

var (
	entity = regexp.MustCompile(`&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});`)
	markup = regexp.MustCompile(`<!--[^>]*-->|</?[a-zA-Z][^<>]*>`)
	// inline are the tags that stand inside words and sentences.
	inline = regexp.MustCompile(`(?i)</?(?:a|abbr|b|big|code|em|font|i|mark|s|small|span|strong|sub|sup|u|wbr)\b[^<>]*>`)
	// blanks are what markup leaves behind.
	blanks = regexp.MustCompile(`[ \t]{2,}`)
	// emphasis is Markdown's, which is no mask.
	emphasis = regexp.MustCompile(`\*\*[^*\n]+\*\*`)
)

// withoutEntities decodes HTML's entities, complete ones only: "Q&reg" may be a
// name.
func withoutEntities(text string) string {
	if !strings.Contains(text, "&") {
		return text
	}
	return entity.ReplaceAllStringFunc(text, html.UnescapeString)
}

// withoutMarkup makes a blank of each tag that parts words, and nothing of
// those within.
func withoutMarkup(text string) string {
	plain := markup.ReplaceAllString(inline.ReplaceAllString(text, ""), " ")
	if plain != text {
		plain = blanks.ReplaceAllString(plain, " ")
	}
	return plain
}

// longText makes plain text of at most maxLongText characters. Line breaks
// stay.
func longText(text string) (string, Verdict) {
	if isMasked(emphasis.ReplaceAllString(text, "")) {
		return "", Masked
	}
	text = withoutEntities(withoutMarkup(text))
	text = strings.Map(func(r rune) rune {
		if isInvisible(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	count := 0
	for i := range text {
		if count++; count > maxLongText {
			text = strings.TrimSpace(text[:i])
			break
		}
	}
	switch {
	case isEmptyText(text):
		return "", Empty
	case isBroken(text):
		return "", Wrong
	default:
		return text, OK
	}
}

// SaysNothing tells whether a raw value is null, an empty list or object, or a
// text that says nothing. A number or boolean always says something.
func SaysNothing(raw any) bool {
	switch raw := raw.(type) {
	case nil:
		return true
	case string:
		return isEmptyText(raw)
	case []any:
		return len(raw) == 0
	case map[string]any:
		return len(raw) == 0
	default:
		return false
	}
}
