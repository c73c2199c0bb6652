package email

import (
	"strings"
	"testing"
)

// TestLimits stands on both sides of every limit, counted in octets of the
// result.
func TestLimits(t *testing.T) {
	a := func(n int) string { return strings.Repeat("a", n) }
	labels := func(n int) string { // a name of n octets under .com
		name := "com"
		for len(name) < n {
			label := min(n-len(name)-1, 63)
			if rest := n - len(name) - 1 - label; rest == 1 {
				label-- // leave room for a dot and a letter
			}
			name = a(label) + "." + name
		}
		return name
	}
	n := newNormalizer(t, Config{AcceptQuotedLocal: true})
	for _, c := range []struct {
		name, raw string
		want      Class
	}{
		{"local 64", a(64) + "@example.com", ""},
		{"local 65", a(65) + "@example.com", ClassLocalTooLong},
		{"local 64 in capitals", strings.ToUpper(a(64)) + "@Example.com", ""},
		{"local 65 in capitals", strings.ToUpper(a(65)) + "@Example.com", ClassLocalTooLong},
		{"local 32 umlauts", strings.Repeat("ü", 32) + "@example.com", ""},
		{"local 33 umlauts", strings.Repeat("ü", 33) + "@example.com", ClassLocalTooLong},
		{"local 33 umlauts, decomposed", strings.Repeat("u\u0308", 33) + "@example.com", ClassLocalTooLong},
		{"local 32 umlauts, decomposed", strings.Repeat("u\u0308", 32) + "@example.com", ""},
		{"local 2000 umlauts", strings.Repeat("ü", 1000) + "@example.com", ClassLocalTooLong},
		{"local 64 full-width", strings.Repeat("ａ", 64) + "@example.com", ""},
		{"local 62 and quotes", `"` + a(61) + ` "@example.com`, ""},
		{"local 63 and quotes", `"` + a(62) + ` "@example.com`, ClassLocalTooLong},
		{"label 63", "a@" + a(63) + ".com", ""},
		{"label 64", "a@" + a(64) + ".com", ClassDomainTooLong},
		{"label 63 encoded", "a@" + strings.Repeat("ü", 56) + ".com", ""},
		{"label 64 encoded", "a@" + strings.Repeat("ü", 60) + ".com", ClassDomainTooLong},
		{"label 64 runes", "a@" + strings.Repeat("ü", 64) + ".com", ClassDomainTooLong},
		{"name 252", "a@" + labels(252), ""},
		{"name 253", "a@" + labels(253), ClassTooLong}, // 255 with the rest
		{"name 254", "a@" + labels(254), ClassDomainTooLong},
		{"name 254 runes", "a@ü." + labels(252), ClassDomainTooLong},
		{"address 254", a(64) + "@" + labels(189), ""},
		{"address 255", a(64) + "@" + labels(190), ClassTooLong},
		{"address 254 in capitals", strings.ToUpper(a(64) + "@" + labels(189)), ""},
		{"input at the limit", a(20) + "@example.com" + strings.Repeat(" ", MaxInput-32), ""},
		{"input over the limit", a(20) + "@example.com" + strings.Repeat(" ", MaxInput-31), ClassTooLong},
		{"a megabyte", strings.Repeat("<\xff\x00", 1<<20/3), ClassTooLong},
	} {
		_, err := n.Normalize(c.raw)
		if got := classOf(err); got != c.want {
			t.Errorf("%s: got %q, want %q", c.name, got, c.want)
		}
	}
}
