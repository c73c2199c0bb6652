package email

import (
	"errors"
	"regexp"
	"strings"
	"testing"
)

func classOf(err error) Class {
	var e *Error
	if errors.As(err, &e) {
		return e.Class
	}
	return ""
}

// TestErrorsHoldNoInput normalizes everything that the corpus refuses with its
// letters replaced by ones that this package does not use in its own texts.
func TestErrorsHoldNoInput(t *testing.T) {
	n := newNormalizer(t, Config{})
	word := regexp.MustCompile(`[a-zA-Z0-9]{4,}`)
	for _, c := range corpus(t) {
		raw := word.ReplaceAllStringFunc(c.raw(), func(w string) string { return strings.Repeat("zq", len(w)/2) })
		_, err := n.Normalize(raw)
		if err != nil && strings.Contains(err.Error(), "zq") {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
}

func TestErrorText(t *testing.T) {
	for want, e := range map[string]*Error{
		"email address: no_at: there is no @": {Class: ClassNoAt, Offset: -1, Reason: "there is no @"},
		"email address: formula at byte 7":    {Class: ClassFormula, Offset: 7},
	} {
		if got := e.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestOffset checks that offsets count bytes of what came in, whatever was
// taken off or decoded before the trouble was found.
func TestOffset(t *testing.T) {
	for _, c := range []struct {
		raw   string
		class Class
		mark  string // the offset is that of this text, the end of raw if it is empty
	}{
		{"john doe@example.com", ClassAmbiguous, "john"},
		{"jo..hn@example.com", ClassLocalInvalid, ".hn"},
		{"john@exam!ple.com", ClassDomainInvalid, "!"},
		{"  Mr X <john@exam!ple.com>", ClassDomainInvalid, "!"},
		{"\u200b\u200b Zo\u00eb <mailto:john@exam!ple.com>", ClassDomainInvalid, "!"},
		{"&lt;john@exam&#33;ple.com&gt;", ClassDomainInvalid, "&#33;"},
		{"&lt;&lt;john@example&period;vom&gt;", ClassTLDUnknown, "vom"},
		{"mailto:jo%2E%2Ehn@example.com", ClassLocalInvalid, "%2Ehn"},
		{"jo\u00adhn@example.com, jane@example.net", ClassMultiple, "jane"},
		{"\"\"\"J\"\" <jane@example.net>, john@example.com\"", ClassMultiple, "john"},
		{"john@\uff45xample.vom", ClassTLDUnknown, "vom"},
		{"john@b\u00fccher.vom", ClassTLDUnknown, "b\u00fccher"},
		{"john (x) (y) @exam_ple.com", ClassDomainInvalid, "_"},
		{"John\x00 <john@example.com>", ClassControlChar, "\x00"},
		{"&#106;ohn@example.com&#0;", ClassBadEncoding, "&#0;"},
		{"(=john@example.com)", ClassFormula, "="},
		{"\"j\\o\\hn\"@example.com zz", ClassAmbiguous, "zz"},
		{"john@", ClassDomainEmpty, ""},
		{"John <john@>", ClassDomainEmpty, ">"},
		{"john@example.com (work", ClassSyntax, "("},
		{strings.Repeat("x", MaxInput+1), ClassTooLong, "x"},
	} {
		_, err := Normalize(c.raw)
		var e *Error
		if !errors.As(err, &e) || e.Class != c.class {
			t.Errorf("%q: %v", c.raw, err)
			continue
		}
		want := strings.Index(c.raw, c.mark)
		if c.mark == "" || c.class == ClassTooLong {
			want = len(c.raw)
		}
		if c.class == ClassTooLong {
			want = MaxInput
		}
		if e.Offset != want {
			t.Errorf("%q: offset %d, want %d", c.raw, e.Offset, want)
		}
	}
}

// TestOffsetInside checks on the corpus that an offset is -1 or one of the input.
func TestOffsetInside(t *testing.T) {
	n := newNormalizer(t, Config{})
	for _, c := range corpus(t) {
		_, err := n.Normalize(c.raw())
		var e *Error
		if errors.As(err, &e) && (e.Offset < -1 || e.Offset > len(c.raw())) {
			t.Errorf("%s: offset %d of %d", c.ID, e.Offset, len(c.raw()))
		}
	}
}
