package forms

import (
	"regexp"
	"strconv"
	"strings"
)

// span is a vendor's range taken apart; its ends are still as the vendor wrote
// them.
type span struct {
	low, high any
	kind      spanKind
}

type spanKind int

const (
	closed spanKind = iota // low to high
	open                   // low or more
	single                 // low alone: not a range
)

// Ways to write a range as one text. What remains around the numbers is judged
// by whoever reads them.
var (
	openText    = regexp.MustCompile(`(?i)^(?:>=?|over|more than|at least)\s*(.+)$|^(.+?)\s*(?:\+|\band (?:more|above|over)|\bor more|\bplus)\s*(?:employees|people)?$`)
	upToText    = regexp.MustCompile(`(?i)^(?:<=?|under|less than|up to|below|fewer than)\s*(.+)$`)
	betweenText = regexp.MustCompile(`(?i)^(?:between\s+|from\s+)?(.+?)\s*(?:–|—|\.\.+|\bto\b|\band\b|~)\s*(.+?)$`)
	codeText    = regexp.MustCompile(`(?i)^c_(\d+)_(\d+|max)$`)
)

// spanOf takes apart an array of two numbers, or a text with one or two.
func spanOf(raw any) (span, Verdict) {
	switch raw := raw.(type) {
	case []any:
		return spanOfList(raw)
	case string:
		return spanOfText(foldSpace(raw))
	case int, float64:
		return span{low: raw, kind: single}, OK
	default:
		return span{}, verdictOfNonText(raw)
	}
}

func spanOfList(list []any) (span, Verdict) {
	switch {
	case len(list) == 0, len(list) == 2 && list[0] == nil && list[1] == nil:
		return span{}, Empty
	case len(list) > 2:
		return span{}, Wrong
	case len(list) == 1:
		return span{low: list[0], kind: single}, OK
	case list[1] == nil:
		return span{low: list[0], kind: open}, OK
	case list[0] == nil:
		return span{}, Masked
	default:
		return span{low: list[0], high: list[1]}, OK
	}
}

func spanOfText(text string) (span, Verdict) {
	switch {
	case isEmptyText(text):
		return span{}, Empty
	case isMasked(text):
		return span{}, Masked
	}
	if low, high, ok := strings.Cut(text, "-"); ok && low != "" { // by far the most
		return span{low: strings.TrimSpace(low), high: strings.TrimSpace(high)}, OK
	}
	if match := codeText.FindStringSubmatch(text); match != nil {
		if strings.EqualFold(match[2], "max") {
			return span{low: match[1], kind: open}, OK
		}
		return span{low: match[1], high: match[2]}, OK
	}
	if match := openText.FindStringSubmatch(text); match != nil {
		return span{low: match[1] + match[2], kind: open}, OK
	}
	if match := upToText.FindStringSubmatch(text); match != nil {
		return span{low: 0, high: match[1]}, OK
	}
	if match := betweenText.FindStringSubmatch(text); match != nil {
		return span{low: match[1], high: match[2]}, OK
	}
	return span{low: text, kind: single}, OK
}

var (
	endsInSuffix = regexp.MustCompile(`(?i)(\d[\d,]*(?:\.\d+)?)\s*([kmbt]|mm|mn|bn|thousand|million|billion|trillion)\b[^\d]*$`)
	smallNumber  = regexp.MustCompile(`^[^\d]*(\d{1,3}(?:\.\d+)?)$`)
)

// sharedSuffix is the low end, with the suffix of the high end where one suffix
// stands for both ("$1-10M"). In "251-1K" it would put the low end above.
func (s span) sharedSuffix() any {
	low, lowIsText := s.low.(string)
	high, highIsText := s.high.(string)
	if !lowIsText || !highIsText || !hasLetter(high) || strings.TrimRight(low, "0123456789") == low {
		return s.low
	}
	from, to := smallNumber.FindStringSubmatch(low), endsInSuffix.FindStringSubmatch(high)
	if from == nil || to == nil {
		return s.low
	}
	least, err1 := strconv.ParseFloat(from[1], 64)
	most, err2 := strconv.ParseFloat(strings.ReplaceAll(to[1], ",", ""), 64)
	if err1 != nil || err2 != nil || least == 0 || least >= most {
		return s.low
	}
	return low + to[2]
}
