package forms

import (
	"strings"

	"github.com/enrichd/enrichd/enrich"
)

// maxItems bounds a list; a longer one is not what its field promises.
const maxItems = 2000

// List collects the texts of a list attribute one by one. The zero List is
// empty.
type List struct {
	items  []string
	wrong  bool
	masked bool
}

// Add adds one raw element: a text, an object with a name, or a list of such.
func (l *List) Add(raw any) {
	switch raw := raw.(type) {
	case []any:
		for _, element := range raw {
			l.Add(element)
		}
	case map[string]any:
		name, named := raw["name"]
		if !named {
			l.wrong = l.wrong || len(raw) > 0
			return
		}
		if _, isText := name.(string); !isText && name != nil {
			l.wrong = true
			return
		}
		l.Add(name)
	case string:
		if isEmptyText(raw) {
			return
		}
		if isMasked(raw) {
			l.masked = true
			return
		}
		text, verdict := lowerLine(raw)
		if verdict != OK || len(l.items) >= maxItems {
			l.wrong = true
			return
		}
		l.items = append(l.items, strings.Clone(text)) // not to keep the whole answer
	case nil:
	case bool:
		l.masked = true
	default:
		l.wrong = true
	}
}

// IsMixed tells whether there were elements that are not texts.
func (l *List) IsMixed() bool { return l.wrong }

// Value returns what was collected. One masked element makes the whole list
// Masked, for what is hidden belongs to it; elements that are not texts make it
// Wrong only when nothing else is there.
func (l *List) Value() (enrich.Value, Verdict) {
	switch {
	case l.masked:
		return enrich.Value{}, Masked
	case len(l.items) > 0:
		return enrich.ListValue(l.items), OK
	case l.wrong:
		return enrich.Value{}, Wrong
	default:
		return enrich.Value{}, Empty
	}
}
