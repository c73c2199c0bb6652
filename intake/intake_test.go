package intake_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/unicode"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

var acme = enrich.Account{Name: "acme"}

func open(t testing.TB) (*ledger.Store, *jobs.Engine) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "enrichd.db"), Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := jobs.New(t.Context(), jobs.Config{}, jobs.Parts{Store: store, Normalizer: normalizer, Suppressions: enrich.NoSuppressions{},
		Log: slog.New(slog.NewTextHandler(io.Discard, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return store, engine
}

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
		"tabs":                 {"E-Mail\tname\na@x.example\tA, B; C\n", "", "2:a@x.example"},
		"quoted lines":         {"name,email\n\"Ada\nLovelace\",a@x.example\nB,b@x.example\n", "", "2:a@x.example 4:b@x.example"},
		"quotes in quotes":     {"name,email\n\"Ada \"\"Countess\"\"\",a@x.example\n", "", "2:a@x.example"},
		"unclosed to the end":  {"name,email\n\"Ada,a@x.example\nB,b@x.example\n", "", "2:unclosed_quote 3:b@x.example"},
		"closed by another":    {"name,email\n\"Ada,a@x.example\nB,b@x.example\n\"C,c@x.example\n", "", "2:unclosed_quote 3:b@x.example 4:unclosed_quote"},
		"a quote inside":       {"name,email\nAda \"C,a@x.example\n", "", "2:a@x.example"},
		"ragged":               {"name,email,x\nAda\nB,b@x.example\nC,c@x.example,1,,\nD,d@x.example,1,2\n", "", "2:too_few_columns 3:b@x.example 4:c@x.example 5:too_many_columns"},
		"empty cells":          {"name,email\nAda,\n\n   \nB,b@x.example\n", "", "2:no_email 5:b@x.example"},
		"formula":              {"email\n=cmd|' /C calc'!A0\n", "", "2:=cmd|' /C calc'!A0"},
		"named column":         {"email,Billing Mail\na@x.example,b@x.example\n", "billing mail", "2:b@x.example"},
		"no column":            {"name,phone\nAda,1\n", "", "no_email_column"},
		"no header":            {"Ada,a@x.example\n", "", "no_header"},
		"two columns":          {"email,Email\na@x.example,b@x.example\n", "", "two_email_columns"},
		"nothing":              {"\n\n", "", "empty"},
		"a huge cell":          {"name,email\n" + strings.Repeat("x", 10<<20) + ",a@x.example\nB,b@x.example\n", "", "2:too_large 3:b@x.example"},
		"a huge quoted cell":   {"name,email\n\"" + strings.Repeat(strings.Repeat("x", 50_000)+"\n", 40) + "B,b@x.example\n", "", ""},
		"JSON lines":           {"{\"email\":\"a@x.example\"}\nnot\n{\"Work-Email\":\"b@x.example\"}\n{\"email\":7}\n[]\n", "", "1:a@x.example 2:not_json 3:b@x.example 4:no_email 5:not_json"},
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

// broken ends with an error after some bytes.
type broken struct {
	io.ReadSeeker
	left int
}

// Read fails when the bytes are used up.
func (b *broken) Read(to []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the disk is gone")
	}
	n, err := b.ReadSeeker.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}

func TestImport(t *testing.T) {
	store, engine := open(t)
	importer := intake.Importer{Store: store, Acceptor: engine}
	var text strings.Builder
	text.WriteString("name,email\n")
	for n := range 3000 {
		fmt.Fprintf(&text, "N%d,n%d@lovelace.example\n", n, n%2500)
	}
	text.WriteString("X,not an address\n")
	file := strings.NewReader(text.String())
	if _, err := importer.Import(t.Context(), acme, &broken{ReadSeeker: file, left: text.Len() + text.Len()/2}, intake.Options{}); err == nil {
		t.Fatal("a file that breaks off was imported")
	}
	file.Seek(0, io.SeekStart)
	done, err := importer.Import(t.Context(), acme, file, intake.Options{})
	if err != nil || done.Accepted != 2500 || done.Repeated != 500 || done.Refused != 1 || done.NextRow != 3001 || done.FinishedAt.IsZero() {
		t.Fatalf("%+v, %v", done, err)
	}
	file.Seek(0, io.SeekStart)
	again, err := importer.Import(t.Context(), acme, file, intake.Options{})
	if err != nil || again != done {
		t.Errorf("the same file again: %+v, %v", again, err)
	}
	refused, err := store.ImportRows(t.Context(), done.ID, 3001, 10)
	if err != nil || len(refused) != 1 || refused[0].Line != 3002 || refused[0].Reason == "" || strings.Contains(refused[0].Reason, "not an") {
		t.Errorf("refused %+v, %v", refused, err)
	}
	if _, err := importer.Import(t.Context(), acme, strings.NewReader("a,b\n1,2\n"), intake.Options{}); err == nil {
		t.Error("a file without addresses was imported")
	}
	leads, err := store.Counts(t.Context())
	if err != nil || len(leads) != 1 || leads[0].Leads != 2500 || leads[0].Lane != enrich.Bulk {
		t.Errorf("leads %+v, %v", leads, err)
	}
}

const event = `{"eventId":"e-1","capturedAt":"2026-03-01T23:59:00+02:00","contact":{"email":"Ada@lovelace.example","name":"Ada"},"utm":{"source":"fair"}}`

func TestEventsAreAcceptedOnce(t *testing.T) {
	store, engine := open(t)
	var first ledger.Receipt
	for n := range 2 {
		parsed, err := intake.ParseEvent([]byte(event), time.Now())
		if err != nil {
			t.Fatal(err)
		}
		result, err := parsed.Accept(t.Context(), store, engine, acme)
		if err != nil || result.Refused != nil || result.Receipt.New != (n == 0) {
			t.Fatalf("time %d: %+v, %v", n+1, result, err)
		}
		if n == 0 {
			first = result.Receipt
		} else if result.Receipt.ID != first.ID {
			t.Error("another lead")
		}
	}
	lead, err := store.Lead(t.Context(), first.ID)
	address, _ := email.Normalize("ada@lovelace.example")
	if err != nil || !strings.Contains(string(lead.Contact), "fair") || lead.Key != email.IdempotencyKey(address, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v, %v", lead, err)
	}
}

func TestEventsOfTheWrongShapeAreRefusedByCause(t *testing.T) {
	now := time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)
	change := func(old, new string) string { return strings.Replace(event, old, new, 1) }
	for want, body := range map[string]string{
		"not_json at /":                    `{"eventId":`,
		"too_large at /":                   `{"eventId":"` + strings.Repeat("x", intake.MostOfEvent) + `"}`,
		"type at /":                        `[]`,
		"required at /":                    `{"eventId":"e"}`,
		"format at /capturedAt":            change("2026-03-01T23:59:00+02:00", "yesterday"),
		"future at /capturedAt":            change("2026-03-01T23:59:00+02:00", "2026-03-02T00:06:00Z"),
		"pattern at /eventId":              change("e-1", "e.1"),
		"additionalProperties at /":        change(`"utm"`, `"ssn":"secret-value","utm"`),
		"additionalProperties at /contact": change(`"name"`, `"secret-value":1,"name"`),
		"type at /contact/email":           change(`"Ada@lovelace.example"`, `7`),
		"maxLength at /contact/email":      change("Ada@", strings.Repeat("a", 2000)+"@"),
	} {
		_, err := intake.ParseEvent([]byte(body), now)
		var refused *intake.RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %.300v", want, err)
		} else if strings.Contains(err.Error(), "secret-value") || strings.Contains(err.Error(), "lovelace") {
			t.Errorf("the error repeats the event: %v", err)
		}
	}
	if _, err := intake.ParseEvent([]byte(event), now); err != nil {
		t.Error(err)
	}
}

func TestSignatures(t *testing.T) {
	parse := func(text string) sinks.Secret {
		secret, err := sinks.ParseSecret("whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(text, 32))))
		if err != nil {
			t.Fatal(err)
		}
		return secret
	}
	old, current, foreign := parse("a"), parse("b"), parse("c")
	now := time.Now()
	signed := func(id string, at time.Time, signatures ...string) http.Header {
		return http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {strings.Join(signatures, " ")}}
	}
	body := []byte(event)
	for name, test := range map[string]struct {
		header http.Header
		holds  bool
	}{
		"signed":          {signed("m1", now, current.Sign("m1", now, body)), true},
		"by the old one":  {signed("m1", now, "v1a,xx", old.Sign("m1", now, body)), true},
		"by a stranger":   {signed("m1", now, foreign.Sign("m1", now, body)), false},
		"of another id":   {signed("m2", now, current.Sign("m1", now, body)), false},
		"of another body": {signed("m1", now, current.Sign("m1", now, []byte(event+" "))), false},
		"too old":         {signed("m1", now.Add(-6*time.Minute), current.Sign("m1", now.Add(-6*time.Minute), body)), false},
		"from the future": {signed("m1", now.Add(2*time.Minute), current.Sign("m1", now.Add(2*time.Minute), body)), false},
		"an id with dots": {signed("m.1", now, current.Sign("m.1", now, body)), false},
		"nothing":         {http.Header{}, false},
	} {
		if err := intake.Verify(test.header, body, []sinks.Secret{old, current}, now); (err == nil) != test.holds {
			t.Errorf("%s: %v", name, err)
		}
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
			if row.Line <= last || (row.Email == "") == (row.Refused == "") {
				t.Fatalf("row %+v after line %d", row, last)
			}
			last = row.Line
		}
	})
}
