package intake_test

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/encoding/unicode"

	"github.com/enrichd/enrichd/intake"
)

func rows(t *testing.T, text, column string) string {
	t.Helper()
	table, err := intake.NewTable(strings.NewReader(text), column)
	var unreadable *intake.UnreadableError
	if errors.As(err, &unreadable) {
		return unreadable.Code
	} else if err != nil {
		t.Fatal(err)
	}
	var all []string
	for {
		row, err := table.Next()
		if errors.Is(err, io.EOF) {
			return strings.Join(all, " ")
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%d:%s%s", row.Line, row.Email, row.Refused))
	}
}

func TestTable(t *testing.T) {
	utf16 := func(text string) string {
		encoded, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return encoded
	}
	for name, test := range map[string]struct{ text, column, want string }{
		"plain":                {"name,email\nAda,a@x.example\n", "", "2:a@x.example"},
		"no end":               {"email\na@x.example", "", "2:a@x.example"},
		"byte order mark":      {"\ufeffemail;name\na@x.example;Ada\n", "", "2:a@x.example"},
		"UTF-16":               {utf16("email\tname\r\na@x.example\tÅda\r\n"), "", "2:a@x.example"},
		"UTF-16 unmarked":      {utf16("email\r\na@x.example\r\n")[2:], "", "utf16_without_mark"},
		"UTF-16 other order":   {"\x00e\x00m\x00a\x00i\x00l\x00\n", "", "utf16_without_mark"},
		"packed by gzip":       {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xabV", "", "not_text"},
		"a spreadsheet":        {"PK\x03\x04\x14\x00\x06\x00\x08\x00", "", "not_text"},
		"a JSON list":          {`[{"email":"a@x.example"}]`, "", "json_list"},
		"a JSON list in lines": {"[\n  {\"email\":\"a@x.example\"}\n]\n", "", "json_list"},
		"tabs":                 {"E-Mail\tname\na@x.example\tA, B; C\n", "", "2:a@x.example"},
		"quoted lines":         {"name,email\n\"Ada\nLovelace\",a@x.example\nB,b@x.example\n", "", "2:a@x.example 4:b@x.example"},
		"quotes in quotes":     {"name,email\n\"Ada \"\"Countess\"\"\",a@x.example\n", "", "2:a@x.example"},
		"unclosed to the end":  {"name,email\n\"Ada,a@x.example\nB,b@x.example\n", "", "2:unclosed_quote 3:b@x.example"},
		"closed by another":    {"name,email\n\"Ada,a@x.example\nB,b@x.example\n\"C,c@x.example\n", "", "2:unclosed_quote 3:b@x.example 4:unclosed_quote"},
		"closed by the next":   {"name,email\nAda,\"a@x.example\nB,b@x.example\nC,c@x.example\"\nD,d@x.example\n", "", "2:unclosed_quote 3:b@x.example 4:c@x.example\" 5:d@x.example"},
		"a row in the quotes":  {"name,email\n\"Ada,a@x.example\nB,b@x.example\nC\",c@x.example\n", "", "2:unclosed_quote 3:b@x.example 4:c@x.example"},
		"the row in quotes":    {"name,email\n\"Ada,a@x.example\nB\",b@x.example\nC,c@x.example\n", "", "2:unclosed_quote 3:b@x.example 4:c@x.example"},
		"a name of two lines":  {"name,email\n\"Ada, née\nB, née C\",a@x.example\n", "", "2:a@x.example"},
		"a note of two lines":  {"email,notes\na@x.example,\"x, y\nz\"\n", "", "2:a@x.example"},
		"spaces after quotes":  {"name,email\n\"Ada\" ,\"a@x.example\"  \n", "", "2:a@x.example"},
		"text after quotes":    {"name,email\n\"Ada \"the\" Countess\",a@x.example\n", "", "2:a@x.example"},
		"a head of two lines":  {"\"full\nname\",email\nAda,a@x.example\n", "", "3:a@x.example"},
		"old line ends":        {"name,email\rAda,a@x.example\r", "", "line_ends"},
		"a huge head":          {strings.Repeat("x", 2<<20) + "\n", "", "no_header"},
		"an unclosed head":     {"name,\"email\nAda,a@x.example\n", "", "no_header"},
		"the usual name first": {"Work Email,email\na@x.example,b@x.example\n", "", "2:b@x.example"},
		"a named column twice": {"Mail,mail\na@x.example,b@x.example\n", "MAIL", "two_email_columns"},
		"NUL":                  {"email\nA,x\x00\nb@x.example\n", "", "2:too_many_columns 3:b@x.example"},
		"a quote inside":       {"name,email\nAda \"C,a@x.example\n", "", "2:a@x.example"},
		"ragged":               {"name,email,x\nAda\nB,b@x.example\nC,c@x.example,1,,\nD,d@x.example,1,2\n", "", "2:too_few_columns 3:b@x.example 4:c@x.example 5:too_many_columns"},
		"empty cells":          {"name,email\nAda,\n\n   \nB,b@x.example\n", "", "2:no_email 5:b@x.example"},
		"formula":              {"email\n=cmd|' /C calc'!A0\n", "", "2:=cmd|' /C calc'!A0"},
		"named column":         {"email,Billing Mail\na@x.example,b@x.example\n", "billing mail", "2:b@x.example"},
		"no column":            {"name,phone\nAda,1\n", "", "no_email_column"},
		"a header alone":       {"name,email\r\n\r\n  \r\n", "", "empty"},
		"rows far below":       {"email\n\n\na@x.example\n", "", "4:a@x.example"},
		"no header":            {"Ada,a@x.example\n", "", "no_header"},
		"two columns":          {"email,Email\na@x.example,b@x.example\n", "", "two_email_columns"},
		"nothing":              {"\n\n", "", "empty"},
		"a huge cell":          {"name,email\n" + strings.Repeat("x", 10<<20) + ",a@x.example\nB,b@x.example\n", "", "2:too_large 3:b@x.example"},
		"a huge quoted cell":   {"name,email\n\"" + strings.Repeat(strings.Repeat("x", 50_000)+"\n", 40) + "B,b@x.example\n", "", ""},
		"JSON lines": {"{\"email\":\"a@x.example\"}\nnot\n{\"Work-Email\":\"b@x.example\"}\n{\"email\":7}\n[]\n{\"email\":\"a@x.example\",\"email\":\"b@x.example\"}\n", "",
			"1:a@x.example 2:not_json 3:b@x.example 4:no_email 5:not_json 6:repeated_name"},
		"JSON with two":        {"{\"mail\":\"b@x.example\",\"email\":\"a@x.example\"}\n", "", "1:a@x.example"},
		"JSON of a column":     {"{\"email\":\"a@x.example\",\"Billing\":\"b@x.example\"}\n{\"email\":\"a@x.example\"}\n", "billing", "1:b@x.example 2:no_email"},
		"bytes of no encoding": {"email\n\xff\xfe@x.example\n", "", "2:\ufffd\ufffd@x.example"},
	} {
		got := rows(t, test.text, test.column)
		if name == "a huge quoted cell" { // refused line by line, and the last row is read
			if !strings.HasPrefix(got, "2:unclosed_quote") || !strings.HasSuffix(got, " 42:b@x.example") {
				t.Errorf("%s: %.80s", name, got)
			}
			continue
		}
		if got != test.want {
			t.Errorf("%s: got %.200q, want %q", name, got, test.want)
		}
	}
}

// TestRowsKeepTheirCells shows what a result is written beside: all cells of a
// row, and of one that cannot be read what stands in its line.
func TestRowsKeepTheirCells(t *testing.T) {
	table, err := intake.NewTable(strings.NewReader("Name;E-Mail;Note\nAda;a@x.example\nB;\"b@x.example;more;and more\nC;c@x.example;x;;;\n"), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(table.Header(), "|"); got != "Name|E-Mail|Note" {
		t.Errorf("header = %s", got)
	}
	for _, want := range []string{"Ada|a@x.example|", "B|\"b@x.example|more;and more", "C|c@x.example|x"} {
		row, err := table.Next()
		if got := strings.Join(row.Cells, "|"); err != nil || got != want {
			t.Errorf("cells = %q, %v, want %q", got, err, want)
		}
	}
}

// TestRowsOfRubbish reads rows of every kind of damage, a million when the long
// import is run: each is told alone, and the good ones among them are found.
func TestRowsOfRubbish(t *testing.T) {
	rounds := 10_000
	if os.Getenv(importRows) != "" {
		rounds = 100_000
	}
	rubbish := []string{"\x00\x01;\xff", "\"", "a;\"b", ";;;;;;", "=cmd|' /C calc'!A0", strings.Repeat("x;", 40), "\"\"\"\"\"", "{}", "good;good@x.example", "\"open;"}
	reader, writer := io.Pipe()
	go func() {
		_, err := fmt.Fprint(writer, "name;email\n")
		for range rounds {
			if err == nil {
				_, err = fmt.Fprint(writer, strings.Join(rubbish, "\n")+"\n")
			}
		}
		writer.CloseWithError(err)
	}()
	table, err := intake.NewTable(reader, "")
	if err != nil {
		t.Fatal(err)
	}
	read, good := 0, 0
	for {
		row, err := table.Next()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		read++
		if row.Email == "good@x.example" {
			good++
		}
	}
	if read != rounds*len(rubbish) || good != rounds {
		t.Errorf("%d rows were read, %d of %d good ones", read, good, rounds)
	}
}

// FuzzTable finds no file that makes reading panic, loop, or lose its place.
func FuzzTable(f *testing.F) {
	f.Add("name,email\n\"a\nb\",c\n", "")
	f.Add("\ufeffemail;x\n\"\"\"", "")
	f.Add("{\"email\":\"a\"}\n{", "")
	f.Fuzz(func(t *testing.T, text, column string) {
		table, err := intake.NewTable(strings.NewReader(text), column)
		if err != nil {
			return
		}
		last := int64(0)
		for {
			row, err := table.Next()
			if err != nil {
				return
			}
			if row.Line <= last || (row.Email == "") == (row.Refused == "") || len(row.Cells) != len(table.Header()) {
				t.Fatalf("row %+v after line %d", row, last)
			}
			last = row.Line
		}
	})
}
