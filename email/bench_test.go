package email

import (
	"fmt"
	"strings"
	"testing"
)

var sink Address

func benchmark(b *testing.B, n *Normalizer, raw string) {
	b.ReportAllocs()
	for b.Loop() {
		sink, _ = n.Normalize(raw)
	}
}

// BenchmarkPlain measures what most inputs are, flags included: at most 400 ns
// and one allocation for a domain that was seen lately.
func BenchmarkPlain(b *testing.B) {
	n := newNormalizer(b, Config{})
	for _, raw := range []string{"john.doe@example.com", "sales@shop.company.co.uk", "jdoe@gmail.com"} {
		b.Run(raw, func(b *testing.B) { benchmark(b, n, raw) })
	}
	b.Run("new domain", func(b *testing.B) {
		names := make([]string, 1<<16)
		for i := range names {
			names[i] = fmt.Sprintf("john.doe@company-%d.com", i)
		}
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			sink, _ = n.Normalize(names[i%len(names)])
		}
	})
}

// BenchmarkMessy measures one of each common repair.
func BenchmarkMessy(b *testing.B) {
	n := newNormalizer(b, Config{})
	for _, raw := range []string{"John.Doe@Example.com", "John Doe <john@example.com>", "mailto:john@example.com;", "john@b\u00fccher.example"} {
		b.Run(raw, func(b *testing.B) { benchmark(b, n, raw) })
	}
}

// BenchmarkCorpus measures the average over all cases: at most 10 µs.
func BenchmarkCorpus(b *testing.B) {
	n := newNormalizer(b, Config{})
	cases := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, c := range cases {
			sink, _ = n.Normalize(c.raw())
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(cases)), "ns/case")
}

func BenchmarkWorst(b *testing.B) {
	n := newNormalizer(b, Config{})
	for name, raw := range worstCases() {
		b.Run(name, func(b *testing.B) { benchmark(b, n, raw) })
	}
}

// worstCases are inputs of the greatest length that is read, each made to cost
// one stage of the pipeline as much as it can.
func worstCases() map[string]string {
	fill := func(before, s, after string) string {
		return before + strings.Repeat(s, (MaxInput-len(before)-len(after))/len(s)) + after
	}
	const address = "a@example.com"
	return map[string]string{
		"letters":             fill("", "a", ""),
		"name":                fill("", "John ", "<"+address+">"),
		"blanks":              fill("a", " ", address),
		"at signs":            fill("", "@", ""),
		"open angles":         fill("", "<", address),
		"closed angles":       fill("", "<>", address),
		"angles with at":      fill("", "<@", ">"),
		"open parentheses":    fill("", "(", address),
		"closed parentheses":  fill("", "()", address),
		"nested parentheses":  fill("", "(", fill(address, ")", "")[MaxInput/2:]),
		"open brackets":       fill("", "[", address+"]"),
		"brackets with at":    fill("", "[@]", ""),
		"literal":             fill("a@", "[", "@]"),
		"quotes":              fill("", `"`, address),
		"quotes behind":       fill(address, `"`, ""),
		"quotes and dots":     fill(address, `".`, ""),
		"escaped quotes":      fill("", `\"`, address),
		"open quote":          fill(`"`, `\"`, address),
		"backslashes":         fill("", `\`, address),
		"single quotes":       fill("'", "'", address+"'"),
		"CSV":                 fill(`"`, `""`, `"`),
		"separators":          fill("", ",;", address),
		"words":               fill("", "a ", address),
		"same address":        fill("", address+",", ""),
		"same in two cases":   fill("", address+",A@Example.com,", ""),
		"same in two scripts": fill("", "a@bücher.example,a@xn--bcher-kva.example,", ""),
		"ampersands":          fill("", "&", address),
		"references":          fill("", "&amp;", address),
		"named references":    fill("", "&uuml;", address),
		"numeric references":  fill("", "&#64;", ""),
		"percent signs":       fill("", "%", address),
		"percent escapes":     fill("", "%40", ""),
		"percent link":        fill("mailto:", "%41", "@example.com"),
		"prefixes":            fill("", "mailto:", address),
		"Slack links":         fill("", "<mailto:a@b.co|a@b.co>", ""),
		"Markdown links":      fill("", "[a@b.co](mailto:a@b.co)", ""),
		"spelled out":         fill("a (at) b", "(dot)", "com"),
		"wide":                fill("", "ａ", "@example.com"),
		"wide blanks":         fill("a", "\u3000", address),
		"invisible":           fill("a", "\u200b", address),
		"joiners":             fill("", "ب\u200d", ""),
		"no encoding":         fill("", "\xff", address),
		"emoji":               fill("", "😀", " <"+address+">"),
		"local part":          fill("", "a", "@example.com"),
		"local part, Unicode": fill("", "ü", "@example.com"),
		"local part, marks":   "a" + strings.Repeat("\u0301", 120) + "@example.com",
		"domain":              fill("a@", "a.", "com"),
		"domain, Unicode":     fill("a@", "ü", ".com"),
		"domain, encoded":     fill("a@", "xn--a.", "com"),
		"longest domain":      "a@" + strings.Repeat(strings.Repeat("ü", 50)+".", 4) + "com",
	}
}
