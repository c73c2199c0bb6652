package providers

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/enrich"
)

const mapping = `
    map: {person.full_name: name, person.phone: phone}
`

const rules = `
outcomes:
  - {status: 200, outcome: hit}
  - {outcome: malformed}
`

func TestRequestsAreSigned(t *testing.T) {
	for name, test := range map[string]struct {
		definition string
		method     string
		url        string
		header     map[string]string
		body       string
	}{
		"several headers": {
			"auth: {headers: {X-Key: $secret.key, authorization: basic}}" + rules + "calls: {person: {asks: email, request: {path: /p}" + flow(mapping),
			"GET", "/p", map[string]string{"X-Key": "k&y", "Authorization": "basic"}, "",
		},
		"a header with a template": {
			`auth: {headers: {Authorization: "Bearer $secret.key"}}` + rules + "calls: {person: {asks: email, request: {path: /p}" + flow(mapping),
			"GET", "/p", map[string]string{"Authorization": "Bearer k&y"}, "",
		},
		"query": {
			"auth: {query: {api_key: $secret.key}}" + rules + "calls: {person: {asks: email, request: {path: /p, query: {e: $email, n: 3, f: false, none: $setting.none, l: [a, b]}}" + flow(mapping),
			"GET", "/p?api_key=k%26y&e=anna.weber%40acme.example&f=false&l=a%2Cb&n=3", nil, "",
		},
		"body of a form": {
			"auth: {body: {key: $secret.key}}" + rules + "calls: {person: {asks: email, request: {method: POST, path: /p, form: {e: $email}}" + flow(mapping),
			"POST", "/p", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}, "e=anna.weber%40acme.example&key=k%26y",
		},
		"body of JSON": {
			"auth: {body: {key: $secret.key}}" + rules + "calls: {person: {asks: email, request: {method: POST, path: /p, json: {data: [{email: $email, no: $setting.none}], on: true, empty: {a: $setting.none}}}" + flow(mapping),
			"POST", "/p", map[string]string{"Content-Type": "application/json"}, `{"data":[{"email":"anna.weber@acme.example"}],"key":"k\u0026y","on":true}`,
		},
		"basic with an empty password": {
			`auth: {basic: {user: $secret.key, password: ""}}` + rules + "calls: {person: {asks: email, request: {path: /p}" + flow(mapping),
			"GET", "/p", map[string]string{"Authorization": "Basic ayZ5Og=="}, "",
		},
		"variables and transforms": {
			`auth: {headers: {X-Key: $secret.key}}` + rules + "calls: {person: {asks: email, request: {path: /p/$email/$domain, query: {h: $(email|sha256), l: $(local|upper), m: $mail_domain, price: $$3, f: $fields}, headers: {Idempotency-Key: $idempotency_key}}, fields: {person.full_name: [fn, ln], person.phone: ph}" + flow(mapping),
			"GET", "/p/anna.weber@acme.example/acme.example?f=fn%2Cln&h=49da85b65aea667cc787d3f2575ead80a47753bfaa2920ae6d43b3728688d177&l=ANNA.WEBER&m=acme.example&price=%243",
			map[string]string{"Idempotency-Key": "idem"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			fake := newFake(t, answerWith(200, anna))
			vendor := vendorAt(t, fake.URL, "secrets: [key]\nsettings: {none: }\n"+test.definition, func(c *ProviderConfig) { c.Credentials = map[string]string{"key": "k&y"} })
			query := person(t, "person.full_name")
			query.IdempotencyKey = "idem"
			if reply := vendor.Lookup(context.Background(), query); reply.Outcome == enrich.InvalidInput {
				t.Fatal(reply.Err)
			}
			got := fake.calls()[0]
			if got.request.URL.String() != test.url {
				t.Errorf("asked %s, want %s", got.request.URL, test.url)
			}
			if got.request.Method != test.method || got.body != test.body {
				t.Errorf("asked %s %q, want %s %q", got.request.Method, got.body, test.method, test.body)
			}
			for header, want := range test.header {
				if got.request.Header.Get(header) != want {
					t.Errorf("%s: %q, want %q", header, got.request.Header.Get(header), want)
				}
			}
		})
	}
}

// flow closes a call that was begun in flow style.
func flow(mapping string) string { return ", " + strings.TrimSpace(mapping) + "}}\n" }

func TestWantedAttributesSetTheVendorsFlags(t *testing.T) {
	fake := newFake(t, answerWith(200, anna))
	vendor := vendorAt(t, fake.URL, rules+`
settings: {hook: }
calls:
  person:
    asks: email
    request:
      method: POST
      path: /p
      json:
        reveal: [profile, {$wanted: person.phone, $then: phones}]
        mobile: {$wanted: [person.phone], $then: true, $else: false}
        hook: {$given: setting.hook, $then: $setting.hook}
    map: {person.full_name: name, person.phone: phone}
`)
	vendor.Lookup(context.Background(), person(t, "person.full_name"))
	vendor.Lookup(context.Background(), person(t, "person.full_name", "person.phone"))
	vendor.settings["hook"] = "https://hook.example"
	vendor.Lookup(context.Background(), person(t, "person.phone"))
	for i, want := range []string{
		`{"mobile":false,"reveal":["profile"]}`,
		`{"mobile":true,"reveal":["profile","phones"]}`,
		`{"hook":"https://hook.example","mobile":true,"reveal":["profile","phones"]}`,
	} {
		if got := fake.calls()[i].body; got != want {
			t.Errorf("body %d: %s, want %s", i, got, want)
		}
	}
}

func TestOAuthTokensAreKeptAndRenewedOnce(t *testing.T) {
	issued, revoked := 0, ""
	fake := newFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/token":
			issued++
			answerWith(200, `{"access_token":"t`+string(rune('0'+issued))+`","expires_in":3600}`)(w, r)
		case r.Header.Get("Authorization") == "Bearer "+revoked || revoked == "all":
			answerWith(401, `{}`)(w, r)
		default:
			answerWith(200, anna)(w, r)
		}
	})
	vendor := vendorAt(t, fake.URL, `
secrets: [id, secret]
auth: {oauth2: {path: /token, client_id: $secret.id, client_secret: $secret.secret, scope: read}}
`+plain, func(c *ProviderConfig) { c.Credentials = map[string]string{"id": "me", "secret": "s"} })
	ctx := context.Background()
	for range 2 {
		if reply := vendor.Lookup(ctx, person(t)); reply.Outcome != enrich.Hit {
			t.Fatal(reply.Err)
		}
	}
	if issued != 1 || fake.calls()[0].body != "client_id=me&client_secret=s&grant_type=client_credentials&scope=read" {
		t.Fatalf("%d tokens, asked with %q", issued, fake.calls()[0].body)
	}

	revoked = "t1"
	query := person(t)
	reply := vendor.Lookup(ctx, query)
	if reply.Outcome != enrich.Pending || reply.Next == nil || reply.Next.Poll {
		t.Fatalf("a revoked token: %+v", reply)
	}
	query.Step = reply.Next
	if reply = vendor.Lookup(ctx, query); reply.Outcome != enrich.Hit || issued != 2 {
		t.Fatalf("after renewal: %+v, %d tokens", reply, issued)
	}

	revoked = "all"
	query.Step = nil
	query.Step = vendor.Lookup(ctx, query).Next
	if reply = vendor.Lookup(ctx, query); reply.Outcome != enrich.AuthFailed || issued != 3 {
		t.Fatalf("a renewed token is refused: %+v, %d tokens", reply, issued)
	}
}

func TestTokenRefusals(t *testing.T) {
	for status, want := range map[int]enrich.Outcome{400: enrich.AuthFailed, 401: enrich.AuthFailed, 429: enrich.RateLimited, 503: enrich.Temporary, 200: enrich.Malformed} {
		fake := newFake(t, answerWith(status, `{"error":"s3cret was refused"}`))
		vendor := vendorAt(t, fake.URL, "secrets: [id, secret]\nauth: {oauth2: {path: /token, client_id: $secret.id, client_secret: $secret.secret, style: basic}}\n"+plain,
			func(c *ProviderConfig) { c.Credentials = map[string]string{"id": "me", "secret": "s3cret"} })
		reply := vendor.Lookup(context.Background(), person(t))
		if reply.Outcome != want || len(fake.calls()) != 1 || strings.Contains(reply.Err.Error(), "s3cret") {
			t.Errorf("%d: %+v, want %s", status, reply, want)
		}
	}
}
