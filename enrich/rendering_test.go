package enrich

import (
	"context"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
)

// TestFingerprintsTellRightsApart: whoever may see less never shares a rendering
// with who may see more.
func TestFingerprintsTellRightsApart(t *testing.T) {
	seen := map[Fingerprint]string{}
	for name, account := range map[string]Account{
		"everything":               {},
		"nothing":                  {Attributes: []Attribute{}},
		"titles":                   {Attributes: []Attribute{"person.title"}},
		"every provider":           {Name: "a"},
		"no provider":              {Name: "a", Providers: []string{}},
		"one provider":             {Name: "a", Providers: []string{"alpha"}},
		"another provider":         {Name: "a", Providers: []string{"beta"}},
		"two providers":            {Name: "a", Providers: []string{"alpha", "beta"}},
		"another purpose":          {Purposes: map[string][]Attribute{"support": nil}},
		"all for the purpose":      {Purposes: map[string][]Attribute{"sales": nil, "support": nil}},
		"nothing for the purpose":  {Purposes: map[string][]Attribute{"sales": {}}},
		"titles for the purpose":   {Purposes: map[string][]Attribute{"sales": {"person.title"}}},
		"role addresses":           {RoleAddresses: true},
		"disposable addresses":     {DisposableAddresses: true},
		"a plan":                   {Plan: "cheap"},
		"a plan on trial":          {Trial: Trial{Plan: "cheap", Percent: 10}},
		"a plan on a larger trial": {Trial: Trial{Plan: "cheap", Percent: 20}},
	} {
		for _, form := range []RenderedForm{RenderedProto, RenderedJSON, RenderedZipped} {
			request := Request{Email: "ada@orchard.example.com", Purpose: "sales", Account: account}
			print := request.fingerprint(form)
			if other, taken := seen[print]; taken {
				t.Errorf("%s and %s share a fingerprint", name, other)
			}
			seen[print] = name
		}
	}
}

// keeper counts the renderings that it is to keep.
type keeper struct {
	Renderings
	kept int
}

func (k *keeper) KeepRendering(context.Context, Glance, Fingerprint, Rendering, About, time.Time) {
	k.kept++
}

// TestNothingIsKeptOfWhoIsSuppressed while the answer is made, be it only named
// there: the erasure that follows may have dropped already what it found.
func TestNothingIsKeptOfWhoIsSuppressed(t *testing.T) {
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	suppressed, keeper := &list{}, &keeper{}
	service := &Service{Normalizer: normalizer, Suppressions: suppressed, Renderings: keeper}
	key := keyOf(t, service, "sales@orchard.example.com")
	recital, answer := Recital{service: service}, Answer{keepsake: &keepsake{about: About{key}}}
	recital.Keep(t.Context(), &answer, []byte("an answer"))
	suppressed.add(key)
	recital.Keep(t.Context(), &answer, []byte("an answer"))
	if keeper.kept != 1 {
		t.Errorf("kept %d times, want once, before", keeper.kept)
	}
}

// BenchmarkFingerprint is of the usual request.
func BenchmarkFingerprint(b *testing.B) {
	request := Request{Email: "ada@orchard.example.com", Account: Account{Name: "sales"}}
	for b.Loop() {
		request.fingerprint(RenderedProto)
	}
}
