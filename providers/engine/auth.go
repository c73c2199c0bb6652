package engine

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/enrichd/enrichd/enrich"
)

// auth is how a request proves who asks. Everything in it may hold secrets.
type auth struct {
	headers  []namedTemplate
	query    objectPart
	body     objectPart // joined to the request's own body
	user     *template  // Basic; the password may be empty
	password template
	oauth    *oauth
}

// oauth is the client credentials grant of OAuth2 (RFC 6749, section 4.4).
type oauth struct {
	path         template
	id, secret   template
	scope        string
	style        string // where the credentials go: form, json or basic
	token        Path
	expires      Path // seconds
	header       namedTemplate
	defaultLives time.Duration
}

// sign adds the credentials. Bodies are replaced, never changed: they belong to
// the definition.
func (a *auth) sign(scope *Scope, out *Outgoing, query url.Values, body *part, form *objectPart) {
	headers := a.headers
	if a.oauth != nil {
		headers = append(headers[:len(headers):len(headers)], a.oauth.header)
	}
	for _, header := range headers {
		if value := header.text.fill(scope, nil); value != "" {
			out.Header.Set(header.name, value)
		}
	}
	if a.user != nil {
		out.Header.Set("Authorization", basic(a.user.fill(scope, nil), a.password.fill(scope, nil)))
	}
	for _, parameter := range a.query {
		if value := parameter.part.build(scope); value != nil {
			query.Set(parameter.name, plainTexts(value)[0])
		}
	}
	if len(a.body) == 0 {
		return
	}
	if object, isObject := (*body).(objectPart); isObject {
		*body = append(object[:len(object):len(object)], a.body...)
	} else if *form != nil {
		*form = append((*form)[:len(*form):len(*form)], a.body...)
	}
}

func basic(user, password string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(user+":"+password))
}

// UsesTokens tells whether calls need an access token in Scope.Token.
func (d *Definition) UsesTokens() bool { return d.auth.oauth != nil }

// TokenRequest builds the request for an access token.
func (d *Definition) TokenRequest(scope *Scope, base *url.URL) (Outgoing, error) {
	if base == nil {
		base = d.baseURL
	}
	o := d.auth.oauth
	ask := request{method: http.MethodPost, path: o.path}
	out, query, err := ask.outgoing(scope, base)
	if err != nil {
		return Outgoing{}, err
	}
	out.URL.RawQuery = query.Encode()
	fields := objectPart{{"grant_type", constant{"client_credentials"}}}
	if o.scope != "" {
		fields = append(fields, namedPart{"scope", constant{o.scope}})
	}
	if o.style == "basic" {
		out.Header.Set("Authorization", basic(url.QueryEscape(o.id.fill(scope, nil)), url.QueryEscape(o.secret.fill(scope, nil))))
	} else {
		fields = append(fields, namedPart{"client_id", o.id}, namedPart{"client_secret", o.secret})
	}
	if o.style == "json" {
		return out, out.setBody(scope, fields, nil)
	}
	return out, out.setBody(scope, nil, fields)
}

// ReadToken reads the answer to a token request. The outcome is Hit when there
// is a token; expires is when it should be renewed.
func (d *Definition) ReadToken(status int, raw []byte, now time.Time) (token string, expires time.Time, outcome enrich.Outcome) {
	body, readable := decode(raw, string(raw))
	o := d.auth.oauth
	switch {
	case status == http.StatusTooManyRequests:
		return "", time.Time{}, enrich.RateLimited
	case status >= 500:
		return "", time.Time{}, enrich.Temporary
	case status >= 400:
		return "", time.Time{}, enrich.AuthFailed
	case !readable || o.token.textOf(body, &Scope{}) == "":
		return "", time.Time{}, enrich.Malformed
	}
	lives := o.defaultLives
	if seconds, ok := delay(o.expires.textOf(body, &Scope{}), 1000); ok && seconds > 0 {
		lives = min(seconds, longestPause)
	}
	// A tenth of its life early, so that no call carries a token that dies on
	// the way.
	return o.token.textOf(body, &Scope{}), now.Add(lives - lives/10), enrich.Hit
}

// auth reads how requests are signed.
func (r *reader) auth(node ast.Node) auth {
	var a auth
	r.inAuth = true
	defer func() { r.inAuth = false }()
	r.fields(node, map[string]func(ast.Node){
		"headers": func(n ast.Node) { a.headers = r.headers(n) },
		"query":   func(n ast.Node) { a.query = r.object(r.pairs(n)) },
		"body":    func(n ast.Node) { a.body = r.object(r.pairs(n)) },
		"basic": func(n ast.Node) {
			r.fields(n, map[string]func(ast.Node){
				"user": func(n ast.Node) { user := r.template(n); a.user = &user },
				"password": func(n ast.Node) {
					if r.scalar(n) != "" {
						a.password = r.template(n)
					}
				},
			})
		},
		"oauth2": func(n ast.Node) { a.oauth = r.oauth(n) },
	})
	return a
}

func (r *reader) oauth(node ast.Node) *oauth {
	bearer, _ := parseTemplate("Bearer $token")
	o := &oauth{
		style: "form", token: Path{steps: []pathStep{{key: "access_token"}}}, expires: Path{steps: []pathStep{{key: "expires_in"}}},
		header: namedTemplate{"Authorization", bearer}, defaultLives: time.Hour,
	}
	r.fields(node, map[string]func(ast.Node){
		"path":          func(n ast.Node) { o.path = r.template(n) },
		"client_id":     func(n ast.Node) { o.id = r.template(n) },
		"client_secret": func(n ast.Node) { o.secret = r.template(n) },
		"scope":         func(n ast.Node) { o.scope = r.text(n) },
		"style":         func(n ast.Node) { o.style = r.oneOf(n, "form", "json", "basic") },
		"token":         func(n ast.Node) { o.token = r.path(n) },
		"expires":       func(n ast.Node) { o.expires = r.path(n) },
		"header":        func(n ast.Node) { o.header.name = r.header(n) },
		"value":         func(n ast.Node) { o.header.text = r.template(n) },
	})
	if o.path.text == "" || o.id.text == "" || o.secret.text == "" {
		r.problem(node, "oauth2 needs path, client_id and client_secret")
	}
	return o
}
