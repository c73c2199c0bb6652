package providers

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// fake is a vendor on the loopback network that answers by a function and
// remembers what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	asked []asked
}

type asked struct {
	request *http.Request
	body    string
}

func newFake(t *testing.T, answer http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body strings.Builder
		buffer := make([]byte, 4096)
		for {
			n, err := r.Body.Read(buffer)
			body.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		f.mu.Lock()
		f.asked = append(f.asked, asked{r, body.String()})
		f.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) calls() []asked {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]asked(nil), f.asked...)
}

// vendorAt builds a vendor of a definition whose calls go to an address. What
// the definition leaves out is filled in.
func vendorAt(t testing.TB, address, definition string, change ...func(*ProviderConfig)) *Vendor {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tested.yaml")
	head := "name: tested\ntitle: Tested\nas_of: 2026-11-29\nbase_url: https://api.tested.example\n"
	if err := os.WriteFile(file, []byte(head+definition), 0o600); err != nil {
		t.Fatal(err)
	}
	config := ProviderConfig{Definition: file, BaseURL: address, AllowPrivate: true}
	for _, change := range change {
		change(&config)
	}
	set, err := New(Config{List: []ProviderConfig{config}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(set.Close)
	return set.Vendors()[0]
}

// plain is the rest of a definition with one simple call.
const plain = `
outcomes:
  - {status: 200, outcome: hit}
  - {status: 404, outcome: miss}
  - {status: 401, outcome: auth_failed}
  - {status: 429, outcome: rate_limited}
  - {status: 5xx, outcome: temporary}
  - {outcome: malformed}
calls:
  person:
    asks: email
    request: {path: /person, query: {email: $email}}
    hit: {all: [name]}
    charge: {hit: 1}
    map: {person.full_name: name, person.title: title}
`

func person(t testing.TB, wanted ...enrich.Attribute) Query {
	t.Helper()
	address, err := email.Normalize("anna.weber@acme.example")
	if err != nil {
		t.Fatal(err)
	}
	if wanted == nil {
		wanted = []enrich.Attribute{"person.full_name", "person.title"}
	}
	return Query{Subject: enrich.PersonSubject(address), Wanted: wanted}
}

func company(t testing.TB, wanted ...enrich.Attribute) Query {
	t.Helper()
	domain, err := email.NormalizeDomain("acme.example")
	if err != nil {
		t.Fatal(err)
	}
	return Query{Subject: enrich.CompanySubject(domain), Wanted: wanted}
}

func answerWith(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body)) // the peer may be gone
	}
}

const anna = `{"name":"Anna Weber","title":"Head of Sales"}`

func TestLookupBringsFacts(t *testing.T) {
	fake := newFake(t, answerWith(200, anna))
	vendor := vendorAt(t, fake.URL, "credit: 0.000005\n"+plain)
	reply := vendor.Lookup(context.Background(), person(t))
	if reply.Outcome != enrich.Hit || reply.Err != nil || reply.Charge != enrich.KnownCharge(5) {
		t.Fatalf("%+v", reply)
	}
	if len(reply.Facts) != 2 {
		t.Fatalf("facts: %+v", reply.Facts)
	}
	for i, want := range []enrich.Fact{
		{Attribute: "person.full_name", Value: enrich.TextValue("Anna Weber"), Price: 3},
		{Attribute: "person.title", Value: enrich.TextValue("Head of Sales"), Price: 2},
	} {
		got := reply.Facts[i]
		if got.Attribute != want.Attribute || !got.Value.Equal(want.Value) || got.Price != want.Price ||
			got.State != enrich.StateValue || got.Source != "tested" || got.Confidence != 0.7 ||
			got.FetchedAt.IsZero() || got.FetchedAt.Nanosecond()%1e6 != 0 {
			t.Errorf("fact %d: %+v", i, got)
		}
	}
	if call := fake.calls()[0]; call.request.URL.String() != "/person?email=anna.weber%40acme.example" || call.request.Method != "GET" || call.body != "" {
		t.Errorf("asked %s %s %q", call.request.Method, call.request.URL, call.body)
	}
}

func TestOnlyFinishedAnswersProveAbsence(t *testing.T) {
	for _, test := range []struct {
		status int
		body   string
		want   enrich.Outcome
		states map[enrich.Attribute]enrich.State
	}{
		{200, `{"name":"Anna","title":null}`, enrich.Partial, map[enrich.Attribute]enrich.State{"person.full_name": enrich.StateValue, "person.title": enrich.StateAbsent}},
		{200, `{"name":"Anna","title":true}`, enrich.Partial, map[enrich.Attribute]enrich.State{"person.full_name": enrich.StateValue}},
		{200, `{"name":"Anna"}`, enrich.Partial, map[enrich.Attribute]enrich.State{"person.full_name": enrich.StateValue}},
		{404, `{}`, enrich.Miss, map[enrich.Attribute]enrich.State{"person.full_name": enrich.StateAbsent, "person.title": enrich.StateAbsent}},
		{451, `{}`, enrich.Suppressed, map[enrich.Attribute]enrich.State{"person.full_name": enrich.StateSuppressed, "person.title": enrich.StateSuppressed}},
		{404, `<html>`, enrich.Malformed, nil},
		{200, `{}`, enrich.Malformed, nil},
		{429, `{}`, enrich.RateLimited, nil},
		{500, `{}`, enrich.Temporary, nil},
	} {
		fake := newFake(t, answerWith(test.status, test.body))
		suppressing := strings.Replace(plain, "outcomes:\n", "outcomes:\n  - {status: 451, outcome: suppressed}\n", 1)
		reply := vendorAt(t, fake.URL, suppressing).Lookup(context.Background(), person(t))
		if reply.Outcome != test.want {
			t.Errorf("%d %s: %s, want %s", test.status, test.body, reply.Outcome, test.want)
		}
		states := map[enrich.Attribute]enrich.State{}
		for _, fact := range reply.Facts {
			states[fact.Attribute] = fact.State
		}
		if len(states) != len(test.states) {
			t.Errorf("%d %s: states %v, want %v", test.status, test.body, states, test.states)
		}
		for attribute, want := range test.states {
			if states[attribute] != want {
				t.Errorf("%d %s: %s is %d, want %d", test.status, test.body, attribute, states[attribute], want)
			}
		}
	}
}
