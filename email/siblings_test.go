package email

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sibling is one line of siblings.txt.
type sibling struct {
	line      int
	raw, want string
}

func siblings(t testing.TB) []sibling {
	t.Helper()
	var all []sibling
	quotedLines(t, "siblings.txt", func(line int, raw, rest string) {
		want, err := strconv.Unquote(`"` + rest + `"`)
		if err != nil {
			t.Fatalf("line %d: %v", line, err)
		}
		all = append(all, sibling{line, raw, want})
	})
	return all
}

// quotedLines reads lines that begin with a quoted string.
func quotedLines(t testing.TB, name string, yield func(line int, raw, rest string)) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		if text = strings.TrimSpace(text); text == "" || text[0] == '#' {
			continue
		}
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			t.Fatalf("%s:%d: %v", name, line, err)
		}
		raw, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s:%d: %v", name, line, err)
		}
		yield(line, raw, strings.TrimSpace(text[len(quoted):]))
	}
}

func TestSiblings(t *testing.T) {
	n := newNormalizer(t, Config{})
	for _, s := range siblings(t) {
		if _, got, _ := strings.Cut(result(t, n, s.raw), ":"); got != s.want {
			t.Errorf("line %d: %q: got %s, want %s", s.line, s.raw, got, s.want)
		}
	}
}

// TestPackagingChangesNothing puts every address that the corpus accepts into
// every packaging, and that into every packaging again: the same must come out.
func TestPackagingChangesNothing(t *testing.T) {
	layers := []string{
		"%", " % ", "%;", ",%,", "\u00a0%\u200b", "\ufeff%",
		"<%>", "<<%>>", "John Doe <%>", "=?x?Q?J?= <%>", "J\xf6rg <%>",
		"'%'", "\u2018%\u2019", "(%)", "[%]", "John (%)", "% (John)",
		"mailto:%", "SMTP:%", "<mailto:%>", "John [mailto:%]", "% <%>", "%, %", "%; John <%>", "&lt;%&gt;",
	}
	outermost := []string{
		"%.", "%\r\n", "\u202d%\u202c", "<%", "%>", "John Doe <%", "'Doe, John' <%>", "\"Doe, John\" <%>", "\"jane@example.net\" <%>",
		"\"%\"", "\"'%'\"", "\"\"%\"\"", "\u201c%\u201d", "[\"%\"]", "\\\"%\\\"",
	}
	n := newNormalizer(t, Config{})
	seen := map[string]bool{}
	for _, c := range corpus(t) {
		a, err := n.Normalize(c.raw())
		if err != nil || seen[a.Reveal()] || strings.ContainsAny(a.Reveal(), "'`?&%|/{}=+") {
			continue // some packaging gives these characters another meaning
		}
		seen[a.Reveal()] = true
		for _, outer := range append(outermost, layers...) {
			for _, inner := range layers {
				if strings.Contains(inner, "&") && strings.Contains(outer, "&") || strings.Contains(inner, "=?") && !strings.HasPrefix(outer, "%") {
					continue // one layer of entities is decoded; a name begins the header
				}
				raw := strings.ReplaceAll(strings.ReplaceAll(outer, "%", inner), "%", a.Reveal())
				if b, err := n.Normalize(raw); err != nil {
					t.Errorf("%q: %v", raw, err)
				} else if b.Reveal() != a.Reveal() {
					t.Errorf("%q: got %s", raw, b.Reveal())
				}
			}
		}
	}
}

// TestDotAtomsStay builds local parts of everything that RFC 5322 allows in
// them, words with a meaning elsewhere included. They stay as they are, in
// lower case.
func TestDotAtomsStay(t *testing.T) {
	pieces := []string{
		"a", "B", "7", "at", "dot", "mailto", "smtp", "email", "null", "www", "x", "amp", "lt", "cmd", "40",
		"-", "_", "+", "{", "}", "'", "`", "|", "/", "&", "#", "!", "?", "*", "~", "^", "$", "%", "=", ".",
	}
	n := newNormalizer(t, Config{})
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 50_000 {
		var local string
		for range 1 + rnd.IntN(8) {
			local += pieces[rnd.IntN(len(pieces))]
		}
		want := "ok:" + strings.ToLower(local) + "@acme-at-home.com"
		switch {
		case isFormula(local):
			want = "error:formula"
		case badAtom(local) >= 0:
			want = "error:local_invalid"
		case local[0] == '=':
			want = "error:formula"
		case encodedAt(local) >= 0:
			want = "error:ambiguous"
		}
		if got := result(t, n, local+"@Acme-At-Home.com"); got != want {
			t.Fatalf("%s: got %s, want %s", local, got, want)
		}
	}
}
