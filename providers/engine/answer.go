package engine

import (
	"mime"
	"net/http"
	"slices"
	"strings"
)

// Answer is one answer of a vendor.
type Answer struct {
	Status int
	Header http.Header

	text string // of the body
	body any
	// readable is true when the body is one JSON value in a type that the
	// definition accepts.
	readable bool
	step     string
	record   any
	seen     *view
}

// newAnswer reads an answer's body. What is not JSON stays readable as text
// only.
func newAnswer(status int, header http.Header, raw []byte, step *Step) *Answer {
	a := &Answer{Status: status, Header: header, text: string(raw), step: step.Name}
	if a.isJSON(step.call.definition.contentTypes) {
		a.body, a.readable = decode(raw, a.text)
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
			Status: a.Status, Header: header, Type: a.mediaType(), Raw: a.text, Body: a.body, Record: a.record,
			Step: a.step, Email: s.Email, Domain: s.Domain, Captured: s.Captured, trace: s.Trace,
		}
	}
	return a.seen
}
