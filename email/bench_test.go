package email

import (
	"strings"
	"testing"
)

var benchSink Address

func BenchmarkPlain(b *testing.B) {
	n := newNormalizer(b, Config{})
	for _, raw := range []string{"john.doe@example.com", "sales@shop.company.co.uk", "jdoe@gmail.com"} {
		b.Run(raw, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchSink, _ = n.Normalize(raw)
			}
		})
	}
}

func BenchmarkCorpus(b *testing.B) {
	n := newNormalizer(b, Config{})
	cases := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range cases {
			benchSink, _ = n.Normalize(c.raw())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(cases)), "ns/case")
}

func BenchmarkWorst(b *testing.B) {
	n := newNormalizer(b, Config{})
	for name, raw := range worstCases() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				benchSink, _ = n.Normalize(raw)
			}
		})
	}
}

// worstCases are inputs of the greatest length that is read, each made to cost
// one stage of the pipeline as much as it can.
func worstCases() map[string]string {
	fill := func(s string) string { return strings.Repeat(s, MaxInput/len(s)) }
	return map[string]string{
		"letters": fill("a"), "blanks": "a" + fill(" ")[2:] + "a", "at": fill("@"), "open": fill("<"), "angles": fill("<>"), "angleat": fill("<@"),
		"paren": fill("("), "parens": fill("()"), "bracket": fill("["), "brackets": fill("[@]"), "bracketat": "@" + fill("[")[3:] + "@]", "quote": fill(`"`), "escapes": fill(`\"`),
		"quoteescapes": `"` + fill(`\"`)[2:], "backslash": fill(`\`), "commas": fill(","), "words": fill("a "), "atwords": fill("a@b "),
		"same": fill("a@example.com,"), "case": fill("a@example.com,A@example.com,"), "idna": fill("a@bücher.example,a@BÜCHER.example,"),
		"amp": fill("&"), "entities": fill("&amp;"), "named": fill("&uuml;"), "numeric": fill("&#64;"), "percent": fill("%40"), "percentat": fill("%41")[6:] + "@b.co",
		"wide": fill("ａ"), "spaces": fill("\u3000") + "a", "zero": "a" + fill("\u200b")[3:] + "a", "joiner": fill("ب\u200d"), "invalid": fill("\xff"), "emoji": fill("😀"),
		"dot": fill("(dot)"), "at dot": fill(" at a dot"), "local": fill("a")[16:] + "@example.com", "ulocal": fill("ü")[16:] + "@example.com", "domain": "a@" + fill("a.")[16:] + "com",
		"udomain": "a@" + fill("ü")[16:] + ".com", "udomain63": "a@" + strings.Repeat(strings.Repeat("ü", 50)+".", 4) + "com", "xn": "a@" + fill("xn--a.")[16:] + "com", "single": fill("'"), "ticks": fill("`a@b.co` "), "mailto": fill("mailto:"), "slack": fill("<mailto:a@b.co|a@b.co>"), "markdown": fill("[a@b.co](mailto:a@b.co)"), "csv": `"` + fill(`""`)[2:] + `"`,
	}
}
