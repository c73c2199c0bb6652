package main

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLeadsAreReadAsImportsAre has one row of each kind: intake's tests know the
// dialects.
func TestLeadsAreReadAsImportsAre(t *testing.T) {
	file, err := openLeads(strings.NewReader("\ufeffName;E-Mail\nA;a@acme.example\nB;\"b@acme.example\nC;\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	var read []string
	for {
		lead, err := file.next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		said := lead.email
		if lead.damage != nil {
			said = lead.damage.Error()
		}
		read = append(read, strings.Join(lead.cells, "|")+" "+said)
	}
	want := `A|a@acme.example a@acme.example, B|"b@acme.example damaged_row: line 3: unclosed quote, C| damaged_row: line 4: no email`
	if got := strings.Join(read, ", "); got != want || file.count != 3 {
		t.Errorf("%d rows, %s\nwant %s", file.count, got, want)
	}
}

func TestFilesThatAreNoLeads(t *testing.T) {
	for name, test := range map[string]struct{ text, says string }{
		"empty":            {"", "no rows"},
		"no such column":   {"name,phone\nA,1\n", "--column"},
		"no headings":      {"A,a@acme.example\nB,b@acme.example\n", "put a header above"},
		"old line ends":    {"name,email\rA,a@acme.example\r", "carriage return"},
		"unclosed heading": {"name,\"email\nA,a@acme.example\n", "no header"},
	} {
		_, err := openLeads(strings.NewReader(test.text), "")
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: error = %.500v, want %q", name, err, test.says)
		}
		if err != nil && strings.Contains(err.Error(), "acme") {
			t.Errorf("%s: the error holds an address: %v", name, err)
		}
	}
}

func TestAColumnThatIsNotThere(t *testing.T) {
	if _, err := openLeads(strings.NewReader("name,email\nA,a@acme.example\n"), "Mail"); err == nil || !strings.Contains(err.Error(), "that --column names") {
		t.Errorf("error = %v", err)
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
