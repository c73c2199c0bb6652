package enrich

import (
	"context"
	"errors"
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

// keeper counts the renderings that it is to keep, and has none.
type keeper struct {
	Renderings
	kept int
	last Rendering
}

func (k *keeper) KeepRendering(_ context.Context, _ Glance, _ Fingerprint, rendering Rendering, _ About, _ time.Time) {
	k.kept++
	k.last = rendering
}

func (k *keeper) Rendering(Fingerprint) (Rendering, Glance, bool) {
	return Rendering{}, Glance{}, false
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

// TestRenderingsAnswerTheirOwnQuestion alone, whatever the fingerprint says.
func TestRenderingsAnswerTheirOwnQuestion(t *testing.T) {
	service, keeper := &Service{}, &keeper{}
	service.Renderings = keeper
	recital := Recital{service: service, email: "ada@orchard.example.com"}
	recital.Keep(t.Context(), &Answer{keepsake: &keepsake{}}, []byte("an answer"))
	kept := keeper.last
	for _, test := range []struct {
		request Request
		answers bool
	}{
		{Request{Email: "ada@orchard.example.com"}, true},
		{Request{Email: "eve@orchard.example.com"}, false},
		{Request{Email: "ada@orchard.example", Domain: ".com"}, false},
		{Request{Domain: "ada@orchard.example.com"}, false},
	} {
		if kept.answers(&test.request) != test.answers {
			t.Errorf("%q, %q: answered: %v", test.request.Email, test.request.Domain, !test.answers)
		}
	}
	if string(kept.Sent) != "an answer" || kept.Size() != len("an answer")+len("ada@orchard.example.com") {
		t.Errorf("it is %q and takes %d bytes", kept.Sent, kept.Size())
	}
}

func TestNothingIsRecitedWhileSuppressionsAreUnknown(t *testing.T) {
	suppressed := &list{}
	service := &Service{Suppressions: suppressed, Renderings: &keeper{}, Config: Config{}.WithDefaults()}
	request := Request{Email: "ada@orchard.example.com"}
	if known := service.Recite(t.Context(), request, RenderedProto); known.service == nil {
		t.Error("nothing can be kept of an answer")
	}
	suppressed.err = errors.New("not loaded")
	if unknown := service.Recite(t.Context(), request, RenderedProto); unknown.Sent != nil || unknown.service != nil {
		t.Errorf("recited: %+v", unknown)
	}
}

// BenchmarkFingerprint is of the usual request.
func BenchmarkFingerprint(b *testing.B) {
	request := Request{Email: "ada@orchard.example.com", Account: Account{Name: "sales"}}
	for b.Loop() {
		request.fingerprint(RenderedProto)
	}
}
