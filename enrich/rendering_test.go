package enrich

import "testing"

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

// BenchmarkFingerprint is of the usual request.
func BenchmarkFingerprint(b *testing.B) {
	request := Request{Email: "ada@orchard.example.com", Account: Account{Name: "sales"}}
	for b.Loop() {
		request.fingerprint(RenderedProto)
	}
}
