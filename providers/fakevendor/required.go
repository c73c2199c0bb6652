package fakevendor

import "strings"

// requires tells whether a record satisfies an expression over field names
// such as "work_email AND (location_name OR mobile_phone)". An empty one is
// satisfied; of an unreadable one what was read counts.
func requires(expression string, record object) bool {
	if strings.TrimSpace(expression) == "" {
		return true
	}
	spaced := strings.NewReplacer("(", " ( ", ")", " ) ").Replace(expression)
	r := &requirement{words: strings.Fields(spaced), record: record}
	return r.any(0)
}

// requirement reads an expression word by word.
type requirement struct {
	words  []string
	record object
}

// deepest is how far parentheses may nest.
const deepest = 20

func (r *requirement) next(word string) bool {
	if len(r.words) == 0 || !strings.EqualFold(r.words[0], word) {
		return false
	}
	r.words = r.words[1:]
	return true
}

func (r *requirement) any(depth int) bool {
	satisfied := r.all(depth)
	for r.next("OR") {
		satisfied = r.all(depth) || satisfied
	}
	return satisfied
}

func (r *requirement) all(depth int) bool {
	satisfied := r.one(depth)
	for r.next("AND") {
		satisfied = r.one(depth) && satisfied
	}
	return satisfied
}

func (r *requirement) one(depth int) bool {
	if depth < deepest && r.next("(") {
		satisfied := r.any(depth + 1)
		r.next(")")
		return satisfied
	}
	if len(r.words) == 0 {
		return false
	}
	name := r.words[0]
	r.words = r.words[1:]
	for _, m := range r.record {
		if m.name == name {
			return filled(m.value)
		}
	}
	return false
}

// filled tells whether a value says anything.
func filled(value any) bool {
	switch v := value.(type) {
	case nil, omitted:
		return false
	case string:
		return v != ""
	case list:
		return len(v) > 0
	case []string:
		return len(v) > 0
	}
	return true
}
