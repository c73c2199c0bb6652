package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// limit is a limit of the vendor and the headers that report it.
type limit struct {
	enrich.Limit
	headers limitHeaders
}

// limitHeaders name the headers of an answer that tell a limit's state.
type limitHeaders struct {
	limit, remaining, used, reset string
	resetUnit                     hintUnit
	// key picks the limit's entry where a header holds an object.
	key string
}

// state reads what the answer says about the limit, and false if it says
// nothing.
func (l limit) state(a *Answer, s *Scope) (enrich.LimitState, bool) {
	state := enrich.LimitState{Name: l.Name, Limit: -1, Remaining: -1}
	read := func(header string, into *int64) {
		if number, ok := l.headers.number(a, header); ok {
			*into = number
		}
	}
	read(l.headers.limit, &state.Limit)
	read(l.headers.remaining, &state.Remaining)
	used := int64(-1)
	read(l.headers.used, &used)
	if state.Remaining < 0 && used >= 0 {
		if of := max(state.Limit, 0); of > 0 {
			state.Remaining = max(of-used, 0)
		}
	}
	if text := l.headers.entry(a, l.headers.reset); text != "" {
		if wait, ok := parseWait(text, l.headers.resetUnit, s.Now); ok {
			state.ResetAt = s.Now.Add(min(wait, longestPause))
		}
	}
	return state, state.Limit >= 0 || state.Remaining >= 0 || !state.ResetAt.IsZero()
}

// number reads a header as a whole number; a negative one means that the
// vendor does not know.
func (h limitHeaders) number(a *Answer, header string) (int64, bool) {
	text := h.entry(a, header)
	if text == "" {
		return 0, false
	}
	number, ok := decimal(text)
	if !ok || !number.IsInt() || !number.Num().IsInt64() || number.Sign() < 0 {
		return 0, false
	}
	return number.Num().Int64(), true
}

// entry returns a header's text, or the entry under the key where it holds an
// object. Some vendors print the object with single quotes.
func (h limitHeaders) entry(a *Answer, header string) string {
	if header == "" {
		return ""
	}
	text := strings.TrimSpace(a.Header.Get(header))
	if h.key == "" || !strings.HasPrefix(text, "{") {
		return text
	}
	var entries map[string]any
	decoder := json.NewDecoder(strings.NewReader(strings.ReplaceAll(text, "'", `"`)))
	decoder.UseNumber()
	if decoder.Decode(&entries) != nil {
		return ""
	}
	switch entry := entries[h.key].(type) {
	case string:
		return entry
	case json.Number:
		return entry.String()
	default:
		return ""
	}
}

// limits reads a list of limits.
func (r *reader) limits(node ast.Node) []limit {
	var limits []limit
	for _, item := range r.items(node) {
		var l limit
		r.fields(item, map[string]func(ast.Node){
			"name": func(n ast.Node) { l.Name = r.text(n) },
			"shape": func(n ast.Node) {
				l.Shape = enrich.LimitShape(r.oneOf(n, string(enrich.TokenBucket), string(enrich.FixedWindow), string(enrich.Sliding), string(enrich.Concurrency)))
			},
			"unit": func(n ast.Node) {
				l.Unit = enrich.Unit(r.oneOf(n, string(enrich.Requests), string(enrich.Entities), string(enrich.Money)))
			},
			"amount":     func(n ast.Node) { l.Amount = r.whole(n) },
			"window":     func(n ast.Node) { l.Window = r.duration(n) },
			"burst":      func(n ast.Node) { l.Burst = r.whole(n) },
			"calendar":   func(n ast.Node) { l.Calendar = r.oneOf(n, "day", "month") },
			"zone":       func(n ast.Node) { l.Zone = r.zone(n) },
			"reset_at":   func(n ast.Node) { l.ResetAt = r.timeOfDay(n) },
			"operations": func(n ast.Node) { l.Operations = r.texts(n); r.checkOperations(n, l.Operations) },
			"headers":    func(n ast.Node) { l.headers = r.limitHeaders(n) },
		})
		switch {
		case l.Name == "" || l.Shape == "" || l.Amount == 0:
			r.problem(item, "a limit needs name, shape and amount")
		case l.Shape != enrich.Concurrency && l.Window == 0 && l.Calendar == "":
			r.problem(item, "limit %s needs a window or a calendar", l.Name)
		case slices.ContainsFunc(limits, func(other limit) bool { return other.Name == l.Name }):
			r.problem(item, "there are two limits %s", l.Name)
		default:
			limits = append(limits, l)
		}
	}
	return limits
}

func (r *reader) limitHeaders(node ast.Node) limitHeaders {
	headers := limitHeaders{resetUnit: guessed}
	r.fields(node, map[string]func(ast.Node){
		"limit":      func(n ast.Node) { headers.limit = r.header(n) },
		"remaining":  func(n ast.Node) { headers.remaining = r.header(n) },
		"used":       func(n ast.Node) { headers.used = r.header(n) },
		"reset":      func(n ast.Node) { headers.reset = r.header(n) },
		"reset_unit": func(n ast.Node) { headers.resetUnit = hintUnit(r.oneOf(n, hintUnits...)) },
		"key":        func(n ast.Node) { headers.key = r.text(n) },
	})
	return headers
}
