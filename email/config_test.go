package email

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidateReportsEverything(t *testing.T) {
	err := Config{
		Fold:       "all",
		TLDCheck:   "maybe",
		TLDAllow:   []string{"lan", "a.b", "", "xn--"},
		ReservedOK: []string{"test", ".LOCAL", "com"},
		Free:       List{Files: []string{"x", " "}},
		Disposable: List{Except: []string{""}},
		Role:       List{OnlyFiles: true},
	}.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	got := strings.Split(err.Error(), "\n")
	want := []string{"fold:", "tld_check:", "tld_allow[1]:", "tld_allow[2]:", "tld_allow[3]:", "reserved_ok[2]:",
		"free.files[1]:", "disposable.except[0]:", "role.only_files:"}
	if len(got) != len(want) {
		t.Fatalf("got %d problems: %v", len(got), err)
	}
	for i := range want {
		if !strings.HasPrefix(got[i], want[i]) {
			t.Errorf("problem %d is %q, want one of %s", i, got[i], want[i])
		}
	}
	if (Config{TLDCheck: TLDOff, TLDAllow: []string{"lan"}}).Validate() == nil {
		t.Error("an allow list without a check is accepted")
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value is refused: %v", err)
	}
	if _, err := New(Config{Fold: "all"}); err == nil {
		t.Error("New accepts what Validate refuses")
	}
}

// TestSwitches shows what each switch changes.
func TestSwitches(t *testing.T) {
	plain := newNormalizer(t, Config{})
	for name, c := range map[string]struct {
		config Config
		raw    string
		before string
		after  string
	}{
		"refuse_eai":           {Config{RefuseEAI: true}, "m\u00fcller@example.com", "ok:m\u00fcller@example.com", "error:local_unicode"},
		"accept_quoted_local":  {Config{AcceptQuotedLocal: true}, `J <"John\ \D"@Example.com>`, "error:local_quoted", `ok:"john d"@example.com`},
		"quotes and at":        {Config{AcceptQuotedLocal: true}, `"a@b.co"@example.com`, "error:local_quoted", `ok:"a@b.co"@example.com`},
		"quotes and escapes":   {Config{AcceptQuotedLocal: true}, `"a\\b\"c"@example.com`, "error:local_quoted", `ok:"a\\b\"c"@example.com`},
		"quotes and formula":   {Config{AcceptQuotedLocal: true}, `"= 1"@example.com`, "error:local_quoted", "error:formula"},
		"quotes and entity":    {Config{AcceptQuotedLocal: true}, `"a&amp;lt; b"@example.com`, "error:local_quoted", "error:ambiguous"},
		"quotes and tab":       {Config{AcceptQuotedLocal: true}, "\"a\tb\"@example.com", "error:local_quoted", "error:local_invalid"},
		"quotes and non-ASCII": {Config{AcceptQuotedLocal: true}, "\"\u00fc b\"@example.com", "error:local_quoted", "error:local_unicode"},
		"decode_obfuscated":    {Config{DecodeObfuscated: true}, "john (at) example [dot] com", "error:obfuscated", "ok:john@example.com"},
		"decode dots":          {Config{DecodeObfuscated: true}, "john@example[.]com", "error:obfuscated", "ok:john@example.com"},
		"decode nothing valid": {Config{DecodeObfuscated: true}, "john at example dot vom", "error:obfuscated", "error:tld_unknown"},
		"extract":              {Config{SingleExtract: true}, "call john@example.com. today", "error:ambiguous", "ok:john@example.com"},
		"extract no comma":     {Config{SingleExtract: true}, "john@acme.co,uk", "error:ambiguous", "error:ambiguous"},
		"extract one":          {Config{SingleExtract: true}, "john@example.com or jane@example.net", "error:multiple", "error:multiple"},
		"accept_placeholders":  {Config{AcceptPlaceholders: true}, "none@none.com", "error:placeholder", "ok:none@none.com"},
		"tld_check warn":       {Config{TLDCheck: TLDWarn}, "john@host.lan", "error:tld_unknown", "ok:john@host.lan"},
		"tld_check off":        {Config{TLDCheck: TLDOff}, "john@host.lan", "error:tld_unknown", "ok:john@host.lan"},
		"tld_check numeric":    {Config{TLDCheck: TLDOff}, "john@host.1", "error:tld_unknown", "error:tld_unknown"},
		"tld_allow":            {Config{TLDAllow: []string{"LAN"}}, "john@host.lan", "error:tld_unknown", "ok:john@host.lan"},
		"tld_allow Unicode":    {Config{TLDAllow: []string{"\u5546\u52d9"}}, "john@host.\u5546\u52d9", "error:tld_unknown", "ok:john@host.xn--lhr59c"},
		"reserved_ok":          {Config{ReservedOK: []string{"test"}}, "john@host.test", "error:domain_reserved", "ok:john@host.test"},
		"reserved_ok one":      {Config{ReservedOK: []string{"test"}}, "john@host.local", "error:domain_reserved", "error:domain_reserved"},
	} {
		if got := result(t, plain, c.raw); got != c.before {
			t.Errorf("%s: by default %s, want %s", name, got, c.before)
		}
		n := newNormalizer(t, c.config)
		got := result(t, n, c.raw)
		if got != c.after {
			t.Errorf("%s: got %s, want %s", name, got, c.after)
		}
		if address, ok := strings.CutPrefix(got, "ok:"); ok {
			if again := result(t, n, address); again != got {
				t.Errorf("%s: again %s", name, again)
			}
		}
	}
}

func TestUnknownTLD(t *testing.T) {
	for check, want := range map[TLDCheck]bool{TLDWarn: true, TLDOff: false} {
		a, err := newNormalizer(t, Config{TLDCheck: check}).Normalize("john@mail.host.lan")
		if err != nil {
			t.Fatal(err)
		}
		if a.UnknownTLD() != want || a.Registrable().String() != "host.lan" {
			t.Errorf("%s: unknown %t, registrable %s", check, a.UnknownTLD(), a.Registrable())
		}
	}
	a, err := newNormalizer(t, Config{TLDCheck: TLDWarn, TLDAllow: []string{"lan"}}).Normalize("john@host.lan")
	if err != nil || a.UnknownTLD() {
		t.Errorf("an allowed top-level domain is unknown: %v", err)
	}
}

func TestListFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	free := write("free.txt", "\ufeff# mail for all\r\n\r\nMail.Example # inline\r\n  b\u00fccher.example\nshared.foo.example")
	n := newNormalizer(t, Config{
		Free:       List{Files: []string{free}, Except: []string{"GMX.de"}},
		Disposable: List{Files: []string{write("disposable.txt", "throw.example\n")}, OnlyFiles: true},
		Role:       List{Files: []string{write("role.txt", "Vertrieb\nB\u00dcRO\n")}, Except: []string{"info"}},
	})
	for raw, want := range map[string]string{
		"john@mail.example":          "free",
		"john@sub.mail.example":      "free",
		"john@xn--bcher-kva.example": "free",
		"john@shared.foo.example":    "free",
		"john@x.shared.foo.example":  "free",
		"john@foo.example":           "",
		"john@gmail.com":             "free",
		"john@gmx.de":                "",
		"john@throw.example":         "disposable",
		"john@mailinator.com":        "",
		"vertrieb@acme.example":      "role",
		"VERTRIEB+x@acme.example":    "role",
		"info@acme.example":          "",
		"b\u00fcro@acme.example":     "role",
		"sales@acme.example":         "role",
		"+sales@acme.example":        "",
		"sales-x@acme.example":       "",
		"sales@mail.example":         "free role",
	} {
		a, err := n.Normalize(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		var got []string
		if a.Free() {
			got = append(got, "free")
		}
		if a.Disposable() {
			got = append(got, "disposable")
		}
		if a.Role() {
			got = append(got, "role")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s is %v, want %q", raw, got, want)
		}
	}

	bad := write("bad.txt", "ok.example\n\nno dots here\nnodot\n# fine\nhttp://x.example\n")
	_, err := New(Config{
		Free:       List{Files: []string{bad, filepath.Join(dir, "missing.txt")}},
		Disposable: List{Except: []string{"nodot"}},
		Role:       List{Files: []string{write("badrole.txt", "a b\nx@y\n")}},
	})
	if err == nil {
		t.Fatal("bad files are accepted")
	}
	for _, want := range []string{bad + ":3:", bad + ":4:", bad + ":6:", "missing.txt", "disposable.except[0]", "badrole.txt:1:", "badrole.txt:2:"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), ":5:") {
		t.Errorf("a comment is a problem: %v", err)
	}
}

// TestBuiltinLists keeps the shipped lists sorted out: no domain is on two of
// them, and every mailbox provider whose aliases are known is free.
func TestBuiltinLists(t *testing.T) {
	l, err := loadLists(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.free) < 100 || len(l.disposable) < 100 || len(l.role) < 50 {
		t.Errorf("%d, %d and %d entries", len(l.free), len(l.disposable), len(l.role))
	}
	n := newNormalizer(t, Config{})
	for d := range l.free {
		if l.disposable.has(d) {
			t.Errorf("%s is free and disposable", d)
		}
		if _, err := n.NormalizeDomain(d); err != nil {
			t.Errorf("%s: %v", d, err)
		}
	}
	for d := range aliases {
		if !l.free.has(d) {
			t.Errorf("%s hands out mailboxes but is not free", d)
		}
	}
	for _, d := range []string{"privaterelay.appleid.com", "mozmail.com", "duck.com", "google.com", "microsoft.com", "apple.com"} {
		if l.disposable.has(d) {
			t.Errorf("%s is disposable", d)
		}
	}
}
