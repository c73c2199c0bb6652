package email

import (
	"strings"
	"testing"

	"golang.org/x/net/idna"
)

// TestIDNAGuards shows names that x/net accepts, or maps to another name, and
// that must be refused. Each also states what x/net makes of it, so that a guard
// that an update has made superfluous is noticed.
func TestIDNAGuards(t *testing.T) {
	p := idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(true),
		idna.CheckHyphens(true), idna.CheckJoiners(true), idna.BidiRule())
	for name, c := range map[string]struct{ in, xnet string }{
		"golang/go#81116 non-ASCII in an encoded label": {"xn--\u304c-.com", "xn--v8j.com"},
		"the same in characters that map to ASCII":      {"\U0001d431n--bcher-kva.com", "xn--bcher-kva.com"},
		"golang/go#81525 bidi rule before the mapping":  {"a\u2135b.com", "xn--ab-vld.com"},
		"golang/go#81026 reserved hyphens":              {"\u00e4b--c.com", "xn--b--c-koa.com"},
		"emoji":                                         {"i\u2764.ws", "xn--i-7iq.ws"},
		"emoji, encoded":                                {"xn--i-7iq.ws", "xn--i-7iq.ws"},
		"curly apostrophe":                              {"o\u2019brien.com", "xn--obrien-3h0c.com"},
		"division slash":                                {"example.com\u2215x.org", "example.xn--comx-id9a.org"},
		"fraction made by a mapping":                    {"b\u00bccher.com", "xn--b14cher-2d7c.com"},
		"middle dot outside Catalan":                    {"a\u00b7b.com", "xn--ab-0ea.com"},
		"geresh without Hebrew":                         {"a\u05f3.com", ""},
		"Katakana middle dot without Japanese":          {"a\u30fbb.com", "xn--ab-3n4a.com"},
		"Greek numeral sign without Greek":              {"a\u0375b.com", "xn--ab-63b.com"},
		"empty label":                                   {"a..com", "a..com"},
		"label of 64":                                   {strings.Repeat("a", 64) + ".com", strings.Repeat("a", 64) + ".com"},
	} {
		if got, err := p.ToASCII(c.in); c.xnet != "" && (err != nil || got != c.xnet) {
			t.Errorf("%s: x/net now answers %q, %v", name, got, err)
		}
		if got, err := toASCII(c.in); err == nil {
			t.Errorf("%s: accepted as %s", name, got)
		}
	}
}

func TestIDNA(t *testing.T) {
	for in, want := range map[string]string{
		"B\u00dcCHER.example":    "xn--bcher-kva.example",
		"XN--BCHER-KVA.example":  "xn--bcher-kva.example",
		"fa\u00df.de":            "xn--fa-hia.de",
		"l\u00b7l.cat":           "xn--ll-0ea.cat",
		"\u30a2\u30fb\u30a2.jp":  "xn--ccka0y.jp",
		"a\u0375\u03b2.gr":       "xn--a-kib7p.gr",
		"\u05d0\u05f3.com":       "xn--4db4e.com",
		"\u0661\u06f1\u0628.com": "error",
		"\u0628\u0661.com":       "xn--ngb8i.com",
		"\u0628\u06f1.com":       "xn--ngb61b.com",
		"\u0646\u0627\u0645\u0647\u200c\u0627\u06cc.com": "xn--mgba3gch31f060k.com",
		"xn--example-.com":     "error", // CVE-2026-39821
		"xn--99999999.example": "error",
		"xn--.com":             "error",
		"a_b.com":              "error",
		"a b.com":              "error",
		"-a.com":               "error",
		"a-.com":               "error",
		"a.com.":               "error",
		"r3---sn.example":      "error",
		"":                     "error",
		"[127.0.0.1]":          "error",
		"::1":                  "error",
		"10.0.0.1":             "error",
		"a.1.example":          "a.1.example",
	} {
		got, err := toASCII(in)
		switch {
		case want == "error" && err == nil:
			t.Errorf("%q: accepted as %s", in, got)
		case want != "error" && (err != nil || got != want):
			t.Errorf("%q: got %q, %v", in, got, err)
		}
		if err != nil && got != "" {
			t.Errorf("%q: an error comes with the name %q", in, got)
		}
	}
}
