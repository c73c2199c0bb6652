package email

import (
	"strings"
	"testing"
)

// TestFold shows what the consumer profile merges, and what it must not.
func TestFold(t *testing.T) {
	n := newNormalizer(t, Config{Fold: ProfileConsumer})
	for raw, want := range map[string]string{
		"j.o.h.n+a+b@googlemail.com":   "john@gmail.com",
		"john_doe@gmail.com":           "john_doe@gmail.com",
		"+a@gmail.com":                 "+a@gmail.com",
		"+a@googlemail.com":            "+a@googlemail.com",
		"j.d+x@google.com":             "j.d+x@google.com",
		"j.d+x@mail.gmail.com":         "j.d+x@mail.gmail.com",
		"j.d+x@outlook.de":             "j.d@outlook.de",
		"j.d+x@hotmail.fr":             "j.d@hotmail.fr",
		"j.d+x@live.nl":                "j.d@live.nl",
		"j.d+x@msn.com":                "j.d@msn.com",
		"j.d+x@hotmail.example":        "j.d+x@hotmail.example",
		"j.d+x@mac.com":                "j.d@icloud.com",
		"j.d+x@icloud.com":             "j.d@icloud.com",
		"j.d_e-f+x@proton.me":          "jdef@proton.me",
		"j.d@pm.me":                    "jd@pm.me",
		"_-._@proton.me":               "_-._@proton.me",
		"j.d+x@fastmail.fm":            "j.d@fastmail.fm",
		"x@john.fastmail.fm":           "john@fastmail.fm",
		"x+y@john.fastmail.com":        "john@fastmail.com",
		"x@a.b.fastmail.com":           "x@a.b.fastmail.com",
		"x@xn--bcher-kva.fastmail.com": "x@xn--bcher-kva.fastmail.com",
		"x@john.gmail.com":             "x@john.gmail.com",
		"i.p+x@ya.ru":                  "i.p@yandex.ru",
		"i-p@yandex.kz":                "i-p@yandex.ru",
		"j.d+x@passport.com":           "j.d+x@passport.com",
		"john-x@yahoo.com":             "john-x@yahoo.com",
		"john+x@yahoo.com":             "john+x@yahoo.com",
		"m\u00fcller+x@gmail.com":      "m\u00fcller@gmail.com",
		"john+x@company.example":       "john+x@company.example",
	} {
		a, err := n.Normalize(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if got := a.Key().Reveal(); got != "e1:consumer:"+want {
			t.Errorf("%s: key %s, want %s", raw, got, want)
		}
		// The folded address is an address whose key is its own.
		folded, err := n.Normalize(want)
		if err != nil || folded.Key().Reveal() != "e1:consumer:"+want {
			t.Errorf("%s: folded again %s, %v", raw, folded.Key().Reveal(), err)
		}
	}
	quoted := newNormalizer(t, Config{Fold: ProfileConsumer, AcceptQuotedLocal: true})
	a, err := quoted.Normalize(`"a+ b"@gmail.com`)
	if err != nil || a.Key().Reveal() != `e1:consumer:"a+ b"@gmail.com` {
		t.Errorf("a quoted local part: %s, %v", a.Key().Reveal(), err)
	}
}

func TestKeysOfDomains(t *testing.T) {
	d, err := NormalizeDomain("www.example.com")
	if err != nil || d.Key().Reveal() != "d1:example.com" {
		t.Errorf("got %s, %v", d.Key().Reveal(), err)
	}
	a, err := Normalize("d1@example.com")
	if err != nil || strings.HasPrefix(a.Key().Reveal(), "d1:") {
		t.Errorf("an address has the key %s, %v", a.Key().Reveal(), err)
	}
	if !(Domain{}).Key().IsZero() {
		t.Error("no domain has a key")
	}
}

// TestFormsDoNotDependOnTheProfile compares what both profiles say of an
// address.
func TestFormsDoNotDependOnTheProfile(t *testing.T) {
	for raw, want := range map[string]string{
		"J.Doe+list@GoogleMail.com": "j.doe+list@googlemail.com jdoe@gmail.com",
		"ada+x@orchard.example":     "ada+x@orchard.example ada+x@orchard.example",
	} {
		for _, profile := range []Profile{ProfileNone, ProfileConsumer} {
			a, err := newNormalizer(t, Config{Fold: profile}).Normalize(raw)
			if err != nil {
				t.Fatal(err)
			}
			if exact, folded := a.Key().Forms(); exact+" "+folded != want {
				t.Errorf("%s: %s %s, want %s", profile, exact, folded, want)
			}
		}
	}
	company, err := NormalizeDomain("www.orchard.example")
	if exact, folded := company.Key().Forms(); err != nil || exact != "orchard.example" || folded != exact {
		t.Errorf("a company: %s %s, %v", exact, folded, err)
	}
	if exact, folded := (Key{}).Forms(); exact != "" || folded != "" {
		t.Errorf("no key: %s %s", exact, folded)
	}
}
