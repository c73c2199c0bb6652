package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readLeads returns the addresses of a file, and of damaged rows what is wrong.
func readLeads(t *testing.T, file *leadFile) []string {
	t.Helper()
	var read []string
	for {
		lead, err := file.next()
		switch {
		case errors.Is(err, io.EOF):
			return read
		case err != nil:
			t.Fatal(err)
		case len(lead.cells) != len(file.header):
			t.Errorf("line %d has %d cells under %d headings", lead.line, len(lead.cells), len(file.header))
		}
		if lead.damage != nil {
			lead.email = lead.damage.Error()
		}
		read = append(read, lead.email)
	}
}

func TestLeadsOfManyDialects(t *testing.T) {
	for _, test := range []struct {
		name, text, column, want string
	}{
		{"commas", "name,email\nA,a@acme.example\nB,b@acme.example\n", "", "a@acme.example|b@acme.example"},
		{"semicolons and a byte order mark", "\ufeffE-Mail;Name\r\na@acme.example;A\r\n", "", "a@acme.example"},
		{"tabs", "id\tWork Email\n1\ta@acme.example\n", "", "a@acme.example"},
		{"a named column", "email,second\nx,a@acme.example\n", "Second", "a@acme.example"},
		{"short rows", "name,email\nA\nB,b@acme.example\n", "", "|b@acme.example"},
		{"empty lines", "\n\nname,email\n\nA,a@acme.example\r\n  \r\n\n", "", "a@acme.example"},
		{"no line break at the end", "name,email\nA,a@acme.example", "", "a@acme.example"},
		{"quotes inside a cell", "name,email\nA \"B\" C,a@acme.example\n5\" nails,b@acme.example\n", "", "a@acme.example|b@acme.example"},
		{"doubled quotes", "name,email\n\"A \"\"B\"\" C\",\"\"\"A, B\"\" <a@acme.example>\"\n", "", `"A, B" <a@acme.example>`},
		{"spaces behind a quote", "name,email\n\"A\" ,\"a@acme.example\"  \n", "", "a@acme.example"},
		{"a cell of several lines", "name,email,notes\n\"A\r\nB\",a@acme.example,\"x\n\n\"\"y\"\", z\"\nB,b@acme.example,\n", "", "a@acme.example|b@acme.example"},
		{"a note of several lines", "email,notes\na@acme.example,\"x, y\nz\"\n", "", "a@acme.example"},
		{"a name of several lines", "name,email\n\"A, née\nB, née C\",a@acme.example\n", "", "a@acme.example"},
		{"a heading of several lines", "\"full\nname\",email\nA,a@acme.example\n", "", "a@acme.example"},
		{"empty cells beyond the headings", "name,email\nA,a@acme.example,,\n", "", "a@acme.example"},
		{"one column", "email\na@acme.example\n", "", "a@acme.example"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := openLeads(iotest.HalfReader(strings.NewReader(test.text)), test.column)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(readLeads(t, file), "|"); got != test.want {
				t.Errorf("addresses = %q, want %q", got, test.want)
			}
		})
	}
}

// TestDamagedRowsLoseNoOther checks that a row that cannot be read is told with
// its line, and that reading goes on with the next line.
func TestDamagedRowsLoseNoOther(t *testing.T) {
	const a, b = "a@acme.example", "b@acme.example"
	long := strings.Repeat("x", 10<<20)
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"an unclosed quote", "n,email\nA,\"a@acme.example\nB,b@acme.example\nC,c@acme.example\n", []string{"line 2: a quote is not closed", b, "c@acme.example"}},
		{"unclosed quotes one after the other", "n,email\nA,\"a@acme.example\nB,\"b@acme.example\n", []string{"line 2: text follows", "line 3: a quote is not closed"}},
		{"an unclosed quote at the end", "n,email\nA,a@acme.example\nB,\"b@acme.example", []string{a, "line 3: a quote is not closed"}},
		{"text behind a quote", "n,email\n\"Bob \"Bo\" Smith\",x@y\nA,a@acme.example\n", []string{"line 2: text follows", a}},
		{"a quote closed by a later row", "n,email\nA,\"x@y\nB,b@acme.example\nC,c@acme.example\"\nA,a@acme.example\n", []string{"line 2: ", b, "c@acme.example\"", a}},
		{"rows inside the quotes", "n,email\n\"A,x@y\nB,b@acme.example\nC\",a@acme.example\n", []string{"line 2: ", b, a}},
		{"a row and the next", "n,email\n\"A,x@y\nB\",b@acme.example\nC,c@acme.example\n", []string{"line 2: ", "b@acme.example", "c@acme.example"}},
		{"CRLF", "n,email\r\nA,\"x@y\r\nB,b@acme.example\r\n", []string{"line 2: a quote is not closed", b}},
		{"NUL", "n,email\nA,x\x00@y\nB,b@acme.example\n", []string{"line 2: it holds NUL", b}},
		{"a line of 10 MB", "n,email\nA," + long + "\nB,b@acme.example\n", []string{"line 2: it is longer", b}},
		{"10 MB after a quote", "n,email\nA,\"" + long + "\nB,b@acme.example\n", []string{"line 2: it is longer", b}},
		{"a quote before a line of 10 MB", "n,email\nA,\"\n" + long + "\nB,b@acme.example\n", []string{"line 2: a quote", "line 3: it is longer", b}},
		{"cells beyond the headings", "n,email\nBrandt, Lena,lena@acme.example\nB,b@acme.example\n", []string{"line 2: it has 3 cells under 2 headings", b}},
		{"a quote that closes too late", "n,email\n\"A\n" + strings.Repeat("x\n", mostLines+5) + "\",x@y\n", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := openLeads(strings.NewReader(test.text), "")
			if err != nil {
				t.Fatal(err)
			}
			got := readLeads(t, file)
			if test.want == nil { // every line is told
				if lines := strings.Count(test.text, "\n") - 1; len(got) != lines {
					t.Errorf("%d rows of %d lines", len(got), lines)
				}
				return
			}
			if len(got) != len(test.want) {
				t.Fatalf("rows = %.300q, want %q", got, test.want)
			}
			for i, want := range test.want {
				if strings.Contains(want, ":") {
					want = "damaged_row: " + want
				}
				if !strings.HasPrefix(got[i], want) {
					t.Errorf("row %d = %.200q, want %q", i+1, got[i], want)
				}
			}
		})
	}
}

// TestDamagedRowsAreShownWhole checks that the results show what stood there.
func TestDamagedRowsAreShownWhole(t *testing.T) {
	file, err := openLeads(strings.NewReader("n;email\nA;\"x@y;more;and more\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	lead, err := file.next()
	if err != nil || strings.Join(lead.cells, "|") != "A|\"x@y;more;and more" {
		t.Errorf("cells = %q, %v", lead.cells, err)
	}
}

func TestFilesThatAreNoLeads(t *testing.T) {
	for name, test := range map[string]struct{ text, says string }{
		"empty":            {"", "empty"},
		"blank":            {"\n \n", "empty"},
		"no such column":   {"name,phone\nA,1\n", "--column"},
		"no headings":      {"A,a@acme.example\nB,b@acme.example\n", "holds an address"},
		"UTF-16":           {"\xff\xfen\x00,\x00", "UTF-16"},
		"old line ends":    {"name,email\rA,a@acme.example\r", "carriage return"},
		"unclosed heading": {"name,\"email\nA,a@acme.example\n", "line 1: a quote is not closed"},
		"a huge heading":   {strings.Repeat("x", 2<<20), "line 1: it is longer"},
	} {
		_, err := openLeads(strings.NewReader(test.text), "")
		if err == nil || !strings.Contains(err.Error(), test.says) || len(err.Error()) > 400 {
			t.Errorf("%s: error = %.500v, want %q", name, err, test.says)
		}
		if err != nil && strings.Contains(err.Error(), "acme") {
			t.Errorf("%s: the error holds an address: %v", name, err)
		}
	}
}

func TestReadErrorsAreTold(t *testing.T) {
	broken := errors.New("the disk is broken")
	file, err := openLeads(io.MultiReader(strings.NewReader("email\n"+strings.Repeat("a@acme.example\n", 10_000)), iotest.ErrReader(broken)), "")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = file.next()
	}
	if !errors.Is(err, broken) || file.count != 10_000 {
		t.Errorf("after %d rows: %v", file.count, err)
	}
}

// FuzzRows checks that no text makes reading panic, lose a line or never end.
func FuzzRows(f *testing.F) {
	for _, seed := range []string{"a,b\n", "\"a\nb\",c@d\n", "\"\"\"", "\"a\"b,c\n", "a,\"b\n\nc@d,e\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := openLeads(strings.NewReader("email,name\n"+text), "")
		if err != nil {
			t.Fatal(err)
		}
		last := 1
		for {
			lead, err := file.next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				return
			}
			if lead.line <= last {
				t.Fatalf("line %d after line %d", lead.line, last)
			}
			if len(lead.cells) != 2 {
				t.Fatalf("%d cells", len(lead.cells))
			}
			last = lead.line
		}
	})
}
