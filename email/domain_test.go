package email

import (
	"strings"
	"sync"
	"testing"
)

func TestRegistrable(t *testing.T) {
	n := newNormalizer(t, Config{})
	for host, want := range map[string]string{
		"example.com":               "example.com",
		"mail.eu.example.co.uk":     "example.co.uk",
		"www.b\u00fccher.example":   "xn--bcher-kva.example",
		"\u90f5\u4ef6.\u53f0\u7063": "xn--5nqv22n.xn--kpry57d",
		"acme.github.io":            "acme.github.io",
		"x.acme.github.io":          "acme.github.io",
		"github.io":                 "github.io",
		"s3.amazonaws.com":          "amazonaws.com",
		"www.ck":                    "www.ck",
		"city.kawasaki.jp":          "city.kawasaki.jp",
		"sub.company.example":       "company.example",
	} {
		a, err := n.Normalize("john@" + host)
		if err != nil || a.Registrable().String() != want {
			t.Errorf("%s: registrable %s, want %s, %v", host, a.Registrable(), want, err)
		}
	}
	for host, want := range map[string]Class{
		"co.uk": ClassDomainInvalid, "foo.ck": ClassDomainInvalid, "bar.kawasaki.jp": ClassDomainInvalid,
		"com": ClassDomainSingleLabel, "xn--p1ai": ClassDomainSingleLabel,
	} {
		if _, err := n.Normalize("john@" + host); classOf(err) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestHostsAreRemembered makes sure that a domain is remembered when it comes
// again, and that nothing is ever told about another one.
func TestHostsAreRemembered(t *testing.T) {
	n := newNormalizer(t, Config{})
	for range 3 {
		for _, typed := range []string{"Gmail.com", "gmail.com", "B\u00fccher.example", "b\u00fccher.example", "xn--bcher-kva.example"} {
			a, err := n.Normalize("john@" + typed)
			if err != nil || a.Free() != strings.EqualFold(typed, "gmail.com") || a.Domain() != strings.ToLower(a.Domain()) {
				t.Errorf("%s: %s, free %t, %v", typed, a.Domain(), a.Free(), err)
			}
		}
	}
	for _, typed := range []string{"gmail.com", "b\u00fccher.example"} {
		if h, ok := n.hosts.find(typed); !ok || len(h.name) == 0 {
			t.Errorf("%s is not remembered", typed)
		}
	}
	for i := range 3 * len(n.hosts.slots) {
		name := "a" + strings.Repeat("b", i%60) + string(rune('a'+i%26)) + ".example"
		for range 1 + i%3 {
			if h, err := n.host(name); err != nil || h.name != name {
				t.Fatalf("%s: %v, %v", name, h, err)
			}
		}
	}
	if _, ok := n.hosts.find("seen-once.example"); ok {
		t.Error("an unseen domain is remembered")
	}
}

func TestNormalizeDomain(t *testing.T) {
	for raw, want := range map[string]string{
		"example.com":                          "example.com",
		" Example.COM. ":                       "example.com",
		"https://www.example.com/path?q=1#x":   "example.com",
		"HTTP://Shop.Example.co.uk:8080":       "example.co.uk",
		"//example.com":                        "example.com",
		"example.com/path//x":                  "example.com",
		"example.com?next=https://example.net": "example.com",
		"example.com:":                         "example.com",
		"@example.com":                         "example.com",
		"<https://www.example.com/>":           "example.com",
		"\"www.example.com\",":                 "example.com",
		"\u200bwww.b\u00fccher.example\u00a0":  "xn--bcher-kva.example",
		"www\u3002example\uff0ecom":            "example.com",
		"xn--bcher-kva.EXAMPLE":                "xn--bcher-kva.example",
		"gmail.com":                            "gmail.com",
		"":                                     "error:empty",
		" \u200b ":                             "error:empty",
		"n/a":                                  "error:placeholder",
		"-":                                    "error:placeholder",
		"https://":                             "error:domain_empty",
		"example":                              "error:domain_single_label",
		"localhost:8080":                       "error:domain_single_label",
		"co.uk":                                "error:domain_invalid",
		"exam_ple.com":                         "error:domain_invalid",
		"example..com":                         "error:domain_invalid",
		"example com":                          "error:domain_invalid",
		"xn--\u304c-.com":                      "error:domain_invalid",
		"example.com:port":                     "error:domain_invalid",
		"john@example.com":                     "error:syntax",
		"https://john:secret@example.com/":     "error:syntax",
		"printer.local":                        "error:domain_reserved",
		"example.vom":                          "error:tld_unknown",
		"http://127.0.0.1:80/":                 "error:domain_ip",
		"http://[::1]:80/":                     "error:domain_ip",
		"::1":                                  "error:domain_ip",
		"exam\u202eple.com":                    "error:unsafe_unicode",
		"example.com\r\nx":                     "error:control_char",
		"b\xfccher.example":                    "error:bad_encoding",
		"=example.com":                         "error:formula",
		strings.Repeat("a", 64) + ".com":       "error:domain_too_long",
		strings.Repeat("a", MaxInput) + ".com": "error:too_long",
	} {
		d, err := NormalizeDomain(raw)
		got := d.String()
		if err != nil {
			got += "error:" + string(classOf(err))
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", raw, got, want)
		}
		if err == nil {
			if again, err := NormalizeDomain(got); err != nil || again != d {
				t.Errorf("%q: again %s, %v", raw, again, err)
			}
		}
	}
	for raw, want := range map[string]Domain{
		"mail.gmail.com":      {"gmail.com", true, false},
		"sub.mailinator.com":  {"mailinator.com", false, true},
		"www.company.example": {"company.example", false, false},
	} {
		d, err := NormalizeDomain(raw)
		if err != nil || d != want || d.Free() != want.free || d.Disposable() != want.disposable {
			t.Errorf("%s: %+v, %v", raw, d, err)
		}
	}
}

func TestSuggestion(t *testing.T) {
	for raw, want := range map[string]string{
		"john@gmail.cm": "gmail.com", "john@gmial.com": "gmail.com", "john@gmail.co": "gmail.com", "john@gmaill.com": "gmail.com",
		"john@hotmial.com": "hotmail.com", "john@hotmail.co": "hotmail.com", "john@outlok.com": "outlook.com",
		"john@yaho.com": "yahoo.com", "john@iclould.com": "icloud.com", "john@protonmial.com": "protonmail.com",
		"john@gmail.com": "", "john@mail.com": "", "john@ymail.com": "", "john@mac.com": "", "john@bigpond.com": "", "john@cloud.com": "",
		"john@hotmail.de": "", "john@company.example": "", "john@sub.gmail.com": "",
	} {
		a, err := Normalize(raw)
		if err != nil || a.Suggestion() != want {
			t.Errorf("%s: suggestion %q, %v", raw, a.Suggestion(), err)
		}
	}
	for raw, want := range map[string]string{
		"john@example.vom": "com", "john@example.ogr": "org", "john@example.nett": "net", "john@example.c0m": "com", "john@example.lan": "",
	} {
		_, err := Normalize(raw)
		e, _ := err.(*Error)
		if e == nil || e.Class != ClassTLDUnknown || e.Suggestion != want {
			t.Errorf("%s: %+v", raw, e)
		}
	}
}

func TestOneSlip(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "a", true}, {"a", "", true}, {"ab", "ba", true}, {"ab", "b", true}, {"abc", "abd", true}, {"abc", "xbc", true},
		{"abc", "acb", true}, {"abc", "bca", false}, {"abc", "cba", false}, {"abc", "a", false}, {"abcd", "acbe", false}, {"abc", "abcde", false},
	} {
		if got := oneSlip(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %t", c.a, c.b, got)
		}
	}
}

// TestConcurrentUse lets many goroutines ask about the same slots; the race
// detector and the answers tell.
func TestConcurrentUse(t *testing.T) {
	n := newNormalizer(t, Config{})
	want := map[string]string{}
	for _, c := range corpus(t) {
		want[c.raw()] = result(t, n, c.raw())
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for raw, outcome := range want {
				if got := result(t, n, raw); got != outcome {
					t.Errorf("%q: got %s, want %s", raw, got, outcome)
				}
			}
		})
	}
	group.Wait()
}
