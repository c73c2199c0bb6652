package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/providers/forms"
)

// request is how an exchange begins.
type request struct {
	method string
	path   template
	fixed  string // the path of all requests, where it has no variables
	query  objectPart
	header []namedTemplate
	json   part
	form   objectPart
}

type namedTemplate struct {
	name string
	text template
}

// Outgoing is a request ready to be sent. It holds credentials and personal
// data: it must not be logged.
type Outgoing struct {
	Method string
	URL    *url.URL
	Header http.Header
	Body   []byte
}

// errMissingInput means that the query lacks what the request's address needs.
var errMissingInput = errors.New("the query lacks an input of the request")

// Outgoing builds the request of the step. base overrides the definition's
// host when it is not nil.
func (s *Step) Outgoing(scope *Scope, base *url.URL) (Outgoing, error) {
	definition := s.call.definition
	scope.Fields = s.call.fieldsFor(scope)
	if base == nil {
		base = s.base
	}
	out, query, err := s.request.outgoing(scope, base)
	if err != nil {
		return Outgoing{}, err
	}
	body, form := s.request.json, s.request.form
	definition.auth.sign(scope, &out, query, &body, &form)
	out.URL.RawQuery = query.Encode()
	return out, out.setBody(scope, body, form)
}

func (r *request) outgoing(scope *Scope, base *url.URL) (Outgoing, url.Values, error) {
	target, err := r.target(scope, base)
	if err != nil {
		return Outgoing{}, nil, err
	}
	out := Outgoing{Method: r.method, URL: target, Header: http.Header{"Accept": {"application/json"}}}
	for _, header := range r.header {
		if value := header.text.fill(scope, nil); value != "" {
			out.Header.Set(header.name, value)
		}
	}
	query := target.Query()
	for _, parameter := range r.query {
		if value := parameter.part.build(scope); value != nil {
			query.Set(parameter.name, strings.Join(plainTexts(value), ","))
		}
	}
	return out, query, nil
}

func (r *request) target(scope *Scope, base *url.URL) (*url.URL, error) {
	if r.fixed != "" && base.RawPath == "" {
		target := *base
		target.Path = strings.TrimSuffix(base.Path, "/") + r.fixed
		return &target, nil
	}
	path := r.path.fill(scope, url.PathEscape)
	if path == "" && r.path.text != "" {
		return nil, errMissingInput
	}
	target, err := url.Parse(strings.TrimSuffix(base.String(), "/") + path)
	if err != nil {
		return nil, errMissingInput
	}
	return target, nil
}

// setBody encodes the body, as JSON or as a form.
func (o *Outgoing) setBody(scope *Scope, body part, form objectPart) error {
	switch {
	case body != nil:
		encoded, err := json.Marshal(body.build(scope))
		if err != nil {
			return fmt.Errorf("the request's body: %w", err)
		}
		o.Body = encoded
		o.Header.Set("Content-Type", "application/json")
	case form != nil:
		values := url.Values{}
		for _, field := range form {
			if value := field.part.build(scope); value != nil {
				values[field.name] = plainTexts(value)
			}
		}
		o.Body = []byte(values.Encode())
		o.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return nil
}

// plainTexts returns a parameter's value as texts, one for each element.
func plainTexts(value any) []string {
	switch value := value.(type) {
	case []string:
		return value
	case []any:
		var texts []string
		for _, element := range value {
			texts = append(texts, plainTexts(element)...)
		}
		return texts
	case int64:
		return []string{fmt.Sprint(value)}
	default:
		text, _ := forms.ScalarText(value)
		return []string{text}
	}
}

// fieldsFor returns the vendor's names of the wanted attributes.
func (c *Call) fieldsFor(s *Scope) []string {
	if len(c.fields) == 0 {
		return nil
	}
	var names []string
	for _, attribute := range s.Wanted {
		for _, name := range c.fields[attribute] {
			if !containsFold(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// request reads how an exchange begins.
func (r *reader) request(node ast.Node) request {
	out := request{method: http.MethodGet}
	r.fields(node, map[string]func(ast.Node){
		"method":  func(n ast.Node) { out.method = r.oneOf(n, http.MethodGet, http.MethodPost, http.MethodPut) },
		"path":    func(n ast.Node) { out.path = r.template(n) },
		"query":   func(n ast.Node) { out.query = r.object(r.pairs(n)) },
		"headers": func(n ast.Node) { out.header = r.headers(n) },
		"json":    func(n ast.Node) { out.json = r.part(n) },
		"form":    func(n ast.Node) { out.form = r.object(r.pairs(n)) },
	})
	switch {
	case !strings.HasPrefix(out.path.text, "/"):
		r.problem(node, "a request needs a path that begins with /")
	case out.json != nil && out.form != nil:
		r.problem(node, "a request has one body: json or form")
	case out.method == http.MethodGet && (out.json != nil || out.form != nil):
		r.problem(node, "a GET request has no body")
	}
	if address, err := url.Parse(out.path.text); err == nil && address.String() == address.Path && !strings.Contains(address.Path, "$") {
		out.fixed = address.Path // no more than a path, and nothing in it is escaped
	}
	return out
}

func (r *reader) headers(node ast.Node) []namedTemplate {
	var headers []namedTemplate
	for _, pair := range r.pairs(node) {
		headers = append(headers, namedTemplate{http.CanonicalHeaderKey(pair.key), r.template(pair.value)})
	}
	return headers
}
