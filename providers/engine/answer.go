package engine

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Answer is one answer of a vendor.
type Answer struct {
	Status int
	Header http.Header

	raw  []byte
	body any
	// readable is true when the body is one JSON value in a type that the
	// definition accepts.
	readable bool
	step     string
	record   any
	seen     *view
}

// maxValues bounds the number of values in an answer: expressions and paths
// take time in proportion to it.
const maxValues = 100_000

// newAnswer reads an answer's body. What is not JSON stays readable as text
// only.
func newAnswer(status int, header http.Header, raw []byte, step *Step) *Answer {
	a := &Answer{Status: status, Header: header, raw: raw, step: step.Name}
	if a.isJSON(step.call.definition.contentTypes) {
		a.body, a.readable = decode(raw)
	}
	return a
}

// isJSON tells whether the content type may hold JSON. Vendors leave it out, or
// call it plain text; a page of HTML is an error page whatever it holds, unless
// the definition knows better.
func (a *Answer) isJSON(more []string) bool {
	media := a.mediaType()
	return media == "" || media == "text/plain" || strings.HasSuffix(media, "json") ||
		strings.HasSuffix(media, "javascript") || slices.Contains(more, media)
}

func (a *Answer) mediaType() string {
	media, _, err := mime.ParseMediaType(a.Header.Get("Content-Type"))
	if err != nil {
		return strings.ToLower(strings.TrimSpace(a.Header.Get("Content-Type")))
	}
	return media
}

// decode reads one JSON value and nothing after it. Numbers become int where
// they are whole and fit, else float64; those beyond 64 bits stay text.
func decode(raw []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil, false
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, false
	}
	left := maxValues
	value = numbers(value, &left)
	return value, left > 0
}

// numbers replaces json.Number in place and counts values.
func numbers(value any, left *int) any {
	if *left--; *left <= 0 {
		return nil
	}
	switch value := value.(type) {
	case json.Number:
		return number(value)
	case map[string]any:
		for key, member := range value {
			switch member.(type) {
			case json.Number, map[string]any, []any:
				value[key] = numbers(member, left)
			default:
				*left--
			}
		}
	case []any:
		for i, element := range value {
			value[i] = numbers(element, left)
		}
	}
	return value
}

func number(text json.Number) any {
	if whole, err := strconv.Atoi(string(text)); err == nil {
		return whole
	}
	if strings.ContainsAny(string(text), ".eE") {
		if float, err := strconv.ParseFloat(string(text), 64); err == nil {
			return float
		}
	}
	return text
}

// view shows the answer to expressions.
func (a *Answer) view(s *Scope) *view {
	if a.seen == nil {
		header := make(map[string]string, len(a.Header))
		for name, values := range a.Header {
			if len(values) > 0 {
				header[strings.ToLower(name)] = values[0]
			}
		}
		a.seen = &view{
			Status: a.Status, Header: header, Type: a.mediaType(), Raw: string(a.raw), Body: a.body, Record: a.record,
			Step: a.step, Email: s.Email, Domain: s.Domain, Captured: s.Captured,
		}
	}
	return a.seen
}
