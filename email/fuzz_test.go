package email

import (
	"errors"
	"net/mail"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
)

// addSeeds gives a fuzz target the corpus, its siblings, what fuzzing found
// before and the worst inputs known.
func addSeeds(f *testing.F) {
	for _, c := range corpus(f) {
		f.Add(c.raw())
	}
	for _, s := range siblings(f) {
		f.Add(s.raw)
	}
	quotedLines(f, "seeds.txt", func(_ int, raw, _ string) { f.Add(raw) })
	for _, raw := range worstCases() {
		f.Add(raw)
	}
}

// permissive accepts as much as configuration can allow.
func permissive(t testing.TB) *Normalizer {
	return newNormalizer(t, Config{
		Fold: ProfileConsumer, AcceptQuotedLocal: true, DecodeObfuscated: true, SingleExtract: true,
		AcceptPlaceholders: true, TLDCheck: TLDWarn, ReservedOK: []string{"test", "local"},
	})
}

// FuzzFixedPoint makes sure that what is accepted is canonical: normalizing it
// again changes nothing, and it holds nothing that a recipient could misread.
func FuzzFixedPoint(f *testing.F) {
	addSeeds(f)
	strict, lax := newNormalizer(f, Config{}), permissive(f)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, n := range []*Normalizer{strict, lax} {
			a, err := n.Normalize(raw)
			if err != nil {
				if !a.IsZero() {
					t.Fatalf("%q: an error comes with an address", raw)
				}
				continue
			}
			address := a.Reveal()
			b, err := n.Normalize(address)
			if err != nil || b.Reveal() != address || b.Key().Reveal() != a.Key().Reveal() || b.Repairs() != nil {
				t.Fatalf("%q: %q becomes %q by %v, %v", raw, address, b.Reveal(), b.Repairs(), err)
			}
			checkCanonical(t, a, n == strict)
		}
	})
}

func checkCanonical(t *testing.T, a Address, strict bool) {
	t.Helper()
	address, domain := a.Reveal(), a.Domain()
	local := strings.TrimSuffix(address, "@"+domain)
	switch {
	case !utf8.ValidString(address) || len(address) > maxAddress || len(local) > maxLocal || local == "":
		t.Fatalf("%q is no address", address)
	case strict && strings.ContainsAny(address, "<>(),;\"[]\\: \t\ufffd") || strings.Contains(local, "@") && local[0] != '"':
		t.Fatalf("%q holds packaging", address)
	case local[0] == '=' || strings.HasPrefix(local, `"=`):
		t.Fatalf("%q is a formula", address)
	case !isASCII(domain) || lowerASCII(address) != address || checkName(domain) != nil:
		t.Fatalf("%q has a domain that is not canonical", address)
	case !strings.HasSuffix("."+domain, "."+a.Registrable().String()) || !strings.Contains(a.Registrable().String(), "."):
		t.Fatalf("%q has the registrable domain %s", address, a.Registrable())
	case a.SMTPUTF8() == isASCII(local):
		t.Fatalf("%q needs SMTPUTF8: %t", address, a.SMTPUTF8())
	}
	for _, r := range address {
		if unicode.IsControl(r) || unicode.IsSpace(r) && r != ' ' || kindOf(r) == kindInvisible || kindOf(r) == kindOverride {
			t.Fatalf("%q holds %U", address, r)
		}
	}
}

// FuzzErrors makes sure that any bytes give an address or a class with an
// offset inside the input, and that no error repeats the input.
func FuzzErrors(f *testing.F) {
	addSeeds(f)
	strict, lax := newNormalizer(f, Config{}), permissive(f)
	f.Fuzz(func(t *testing.T, raw string) {
		for _, n := range []*Normalizer{strict, lax} {
			_, err := n.Normalize(raw)
			checkError(t, raw, err)
			_, err = n.NormalizeDomain(raw)
			checkError(t, raw, err)
		}
	})
}

func checkError(t *testing.T, raw string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Class == "" || e.Reason == "" {
		t.Fatalf("%q: %#v", raw, err)
	}
	if e.Offset < -1 || e.Offset > len(raw) {
		t.Fatalf("%q: offset %d", raw, e.Offset)
	}
	// The text must be the same as for any other input of this class and reason,
	// so nothing of the input can be in it.
	if !ownTexts[e.Reason] {
		t.Fatalf("%q: the reason %q is not one of this package's texts", raw, e.Reason)
	}
	switch e.Suggestion {
	case "", "com", "net", "org":
	default:
		t.Fatalf("%q: suggestion %q", raw, e.Suggestion)
	}
}

// FuzzPlain makes sure that the fast path answers as the whole pipeline does.
func FuzzPlain(f *testing.F) {
	addSeeds(f)
	n := newNormalizer(f, Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		m, ok := n.plain(raw)
		if !ok {
			return
		}
		p := pipeline{n: n}
		slow, err := p.run(raw)
		if err != nil || !slow.same(m) || p.repairs != 0 {
			t.Fatalf("%q: the pipeline says %q by %v, %v", raw, slow.local, p.repairs.names(), err)
		}
	})
}

// FuzzCost makes sure that no input of the greatest length costs more than
// fifty times a plain one of that length, in time and in memory. A try that was
// disturbed proves nothing, so only a long row of slow tries fails.
func FuzzCost(f *testing.F) {
	addSeeds(f)
	n := newNormalizer(f, Config{})
	plain := strings.Repeat("John Doe ", MaxInput/9-3) + "<john@example.com>"
	cost := func(raw string) time.Duration {
		start := time.Now()
		_, _ = n.Normalize(raw)
		return time.Since(start)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		if raw == "" {
			return
		}
		raw = strings.Repeat(raw, MaxInput/len(raw)+1)[:MaxInput]
		const ratio, tries = 50, 100
		for try := 0; cost(raw) > ratio*cost(plain); try++ {
			if try == tries {
				t.Fatalf("%q costs %v, a plain input %v", raw, cost(raw), cost(plain))
			}
		}
		if allocs := testing.AllocsPerRun(1, func() { _, _ = n.Normalize(raw) }); allocs > MaxInput {
			t.Fatalf("%q: %v allocations", raw, allocs)
		}
	})
}

// FuzzNetMail makes sure that an address which both this package and net/mail
// read is the same for both: two programs that disagree about the recipient are
// how mail goes astray.
func FuzzNetMail(f *testing.F) {
	addSeeds(f)
	n := newNormalizer(f, Config{})
	f.Fuzz(func(t *testing.T, raw string) {
		parsed, err := mail.ParseAddress(raw)
		if err != nil {
			return
		}
		a, err := n.Normalize(raw)
		if err != nil {
			return
		}
		if b, err := n.Normalize(parsed.Address); err == nil && b.Reveal() != a.Reveal() {
			t.Fatalf("%q: net/mail reads %q, this package %q", raw, parsed.Address, a.Reveal())
		}
	})
}
