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

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

var acme = enrich.Account{Name: "acme"}

func open(t testing.TB, change ...func(*jobs.Parts)) (*ledger.Store, *jobs.Engine) {
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
	parts := jobs.Parts{Store: store, Normalizer: normalizer, Suppressions: enrich.NoSuppressions{}, Log: slog.New(slog.DiscardHandler)}
	for _, each := range change {
		each(&parts)
	}
	engine, err := jobs.New(t.Context(), jobs.Config{Backoff: 10 * time.Millisecond}, parts)
	if err != nil {
		t.Fatal(err)
	}
	return store, engine
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

// meddled does something in between when it is read for the second time: after
// the first part of it was taken, and for the import's digest all of it.
type meddled struct {
	io.ReadSeeker
	reads  int
	meddle func()
}

// Seek begins the file anew.
func (m *meddled) Seek(offset int64, whence int) (int64, error) {
	m.reads = 1
	return m.ReadSeeker.Seek(offset, whence)
}

// Read meddles once.
func (m *meddled) Read(to []byte) (int, error) {
	if m.reads > 0 {
		if m.reads++; m.reads == 4 {
			m.reads = 0
			m.meddle()
		}
	}
	return m.ReadSeeker.Read(to)
}

// TestTheSameFileAtOnce has somebody else send a file while it is read: all of
// it, or a part until their connection breaks off.
func TestTheSameFileAtOnce(t *testing.T) {
	var text strings.Builder
	text.WriteString("name,email\n")
	for n := range 6000 {
		fmt.Fprintf(&text, "Somebody With A Name As Long As Others Are,n%d@lovelace.example\n", n)
	}
	for name, readable := range map[string]int{"all": 2 * text.Len(), "a part": text.Len() + text.Len()*2/3} {
		store, engine := open(t)
		importer := intake.Importer{Store: store, Acceptor: engine}
		meddling := false
		file := &meddled{ReadSeeker: strings.NewReader(text.String()), meddle: func() {
			meddling = true
			_, _ = importer.Import(t.Context(), acme, &broken{ReadSeeker: strings.NewReader(text.String()), left: readable}, intake.Options{})
		}}
		done, err := importer.Import(t.Context(), acme, file, intake.Options{})
		if err != nil || !meddling || done.Accepted != 6000 || done.Repeated != 0 || done.FinishedAt.IsZero() {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
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
