package server

import (
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/deadletter"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/intake"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// accepting is a server that accepts leads and does not work them.
func accepting(t *testing.T, change ...func(*Config, *Parts)) (*edge, enrichv1.LeadServiceClient, *ledger.Store) {
	t.Helper()
	store, err := ledger.Open(t.Context(), ledger.Config{Path: filepath.Join(t.TempDir(), "leads.db"), Node: "n"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := jobs.New(t.Context(), jobs.Config{}, jobs.Parts{Store: store, Normalizer: normalizer, Suppressions: enrich.NoSuppressions{}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	everything := func(_ *Config, parts *Parts) {
		parts.Leads = &Leads{Store: store, Engine: engine, Inbox: &deadletter.Inbox{Store: store, Queue: engine}, Event: func(string) {},
			Importer: &intake.Importer{Store: store, Acceptor: engine}, MaxImportBytes: 200 << 10}
	}
	e := start(t, nil, append([]func(*Config, *Parts){everything}, change...)...)
	return e, enrichv1.NewLeadServiceClient(e.conn), store
}

// upload sends messages and returns the answer.
func upload(t *testing.T, leads enrichv1.LeadServiceClient, messages ...*enrichv1.UploadImportRequest) (*enrichv1.Import, error) {
	t.Helper()
	stream, err := leads.UploadImport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, message := range messages {
		if err := stream.Send(message); err == io.EOF {
			break // it was answered
		} else if err != nil {
			t.Fatal(err)
		}
	}
	return stream.CloseAndRecv()
}

// TestAFileComesInParts is longer than a message may be.
func TestAFileComesInParts(t *testing.T) {
	_, leads, _ := accepting(t)
	text := "name,email\n" + strings.Repeat("Somebody,jane.doe@acme.example\n", 4000)
	var parts []*enrichv1.UploadImportRequest
	for at := 0; at < len(text); at += 10_001 { // in the middle of rows
		parts = append(parts, &enrichv1.UploadImportRequest{Content: []byte(text[at:min(at+10_001, len(text))])})
	}
	parts[0].Import = &enrichv1.CreateImportRequest{Column: "EMAIL"}
	imported, err := upload(t, leads, parts...)
	if err != nil || imported.GetAccepted() != 1 || imported.GetRepeated() != 3999 || imported.GetFinishTime() == nil {
		t.Fatalf("imported %v, %v", imported, err)
	}
	again, err := upload(t, leads, parts...)
	if err != nil || again.GetId() != imported.GetId() {
		t.Errorf("the same again: %v, %v", again, err)
	}
	small, err := upload(t, leads, &enrichv1.UploadImportRequest{Import: &enrichv1.CreateImportRequest{Content: []byte("email\n")}, Content: []byte("ann.coe@acme.example\n")})
	if err != nil || small.GetAccepted() != 1 {
		t.Errorf("in the first message: %v, %v", small, err)
	}
}

// TestAFileThatCannotBePutAside tells the caller to come again, over both paths,
// and the operator why, for it may never pass.
func TestAFileThatCannotBePutAside(t *testing.T) {
	e, leads, _ := accepting(t)
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "none"))
	_, err := upload(t, leads, &enrichv1.UploadImportRequest{Import: &enrichv1.CreateImportRequest{}, Content: []byte("email\n")})
	if status.Code(err) != codes.Unavailable || detail[*errdetails.ErrorInfo](err).GetMetadata()["class"] != "spool" {
		t.Errorf("uploaded: %v", err)
	}
	code, _, said := e.ask(t, http.MethodPost, "/v1/imports", "email\n", "Content-Type: text/csv")
	if code != http.StatusServiceUnavailable || !strings.Contains(string(said), `"spool"`) {
		t.Errorf("posted: %d, %s", code, said)
	}
	e.stop()
	if log := e.log.String(); strings.Count(log, "no such file or directory") != 2 || !strings.Contains(log, detail[*errdetails.ErrorInfo](err).GetMetadata()["request_id"]) {
		t.Errorf("the log does not explain both: %s", log)
	}
}

func TestUploadsThatCannotBeRead(t *testing.T) {
	_, leads, store := accepting(t)
	first := &enrichv1.UploadImportRequest{Import: &enrichv1.CreateImportRequest{}, Content: []byte("email\n")}
	more := &enrichv1.UploadImportRequest{Content: []byte(strings.Repeat("x", 50<<10))}
	for name, test := range map[string]struct {
		messages []*enrichv1.UploadImportRequest
		class    string
	}{
		"nothing":           {nil, "required"},
		"no word on how":    {[]*enrichv1.UploadImportRequest{more}, "required"},
		"how, twice":        {[]*enrichv1.UploadImportRequest{first, first}, "repeated"},
		"too long":          {[]*enrichv1.UploadImportRequest{first, more, more, more, more, more}, "too_long"},
		"no address column": {[]*enrichv1.UploadImportRequest{{Import: &enrichv1.CreateImportRequest{Content: []byte("a\nb\n")}}}, "no_email_column"},
		"an unknown field":  {[]*enrichv1.UploadImportRequest{{Import: &enrichv1.CreateImportRequest{Column: strings.Repeat("x", 300)}}}, "string.max_len"},
	} {
		_, err := upload(t, leads, test.messages...)
		if class := detail[*errdetails.ErrorInfo](err).GetMetadata()["class"]; status.Code(err) != codes.InvalidArgument || class != test.class {
			t.Errorf("%s: %v, class %q", name, err, class)
		}
	}
	if counts, err := store.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("something was accepted: %v, %v", counts, err)
	}
}

// TestAParameterOfAnImportStandsOnce has none of two values chosen for the caller.
func TestAParameterOfAnImportStandsOnce(t *testing.T) {
	e, _, store := accepting(t)
	for query, class := range map[string]string{
		"column=email&column=mail":      "repeated",
		"fields=person.title&fields=":   "repeated",
		"column=email&c%6flumn=email":   "repeated",
		"column=email&lane=express":     "query",
		"column=email&separator=%3B":    "query",
		"column=email&separator=;&a=%x": "query",
	} {
		code, _, said := e.ask(t, http.MethodPost, "/v1/imports?"+query, "email\njane.doe@acme.example\n", "Content-Type: text/csv")
		if code != http.StatusBadRequest || !strings.Contains(string(said), `"`+class+`"`) {
			t.Errorf("%s: %d, %s", query, code, said)
		}
	}
	if counts, err := store.Counts(t.Context()); err != nil || len(counts) > 0 {
		t.Errorf("something was accepted: %v, %v", counts, err)
	}
}

// TestAnUploadThatStopsArrivingEnds holds nothing open for a caller who is gone.
func TestAnUploadThatStopsArrivingEnds(t *testing.T) {
	_, leads, _ := accepting(t, func(config *Config, _ *Parts) { config.BodyTimeout = 100 * time.Millisecond })
	stream, err := leads.UploadImport(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&enrichv1.UploadImportRequest{Import: &enrichv1.CreateImportRequest{}}); err != nil {
		t.Fatal(err)
	}
	if err := stream.RecvMsg(&enrichv1.Import{}); err == nil {
		t.Error("half a file was taken for one")
	}
}

// TestTheLedgerIsExported has a charge that is known and one that nobody knows.
func TestTheLedgerIsExported(t *testing.T) {
	e, _, store := accepting(t)
	charge(t, store, ledger.Charge{Key: "k1", Account: "open", Lead: "l1", Provider: "hunter", Charged: enrich.KnownCharge(4900), At: time.Now().Add(-time.Hour)},
		ledger.Charge{Key: "k2", Account: "open", Lead: "l2", Provider: "hunter", At: time.Now()})
	stream, err := enrichv1.NewLeadAdminServiceClient(e.conn).ExportLedger(t.Context(), &enrichv1.ExportLedgerRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var charges []*enrichv1.Charge
	for {
		charge, err := stream.Recv()
		if err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		charges = append(charges, charge)
	}
	if len(charges) != 2 || charges[0].GetMicros() != 4900 || charges[1].Micros != nil || charges[1].GetLead() != "l2" {
		t.Errorf("exported %v", charges)
	}
	since := `{"since":"` + time.Now().Add(-time.Minute).UTC().Format(time.RFC3339) + `"}`
	code, header, text := e.ask(t, "POST", "/v1/ledger:export", since, "Content-Type: application/json")
	if code != 200 || header.Get("Content-Type") != ndjson || strings.Count(string(text), "\n") != 1 || !strings.Contains(string(text), `"k2"`) {
		t.Errorf("over REST: %d %v %s", code, header, text)
	}
	if code, _, text := e.ask(t, "POST", "/v1/ledger:export", `{"till":"now"}`, "Content-Type: application/json"); code != 400 {
		t.Errorf("an unknown field: %d %s", code, text)
	}
}

func charge(t *testing.T, store *ledger.Store, charges ...ledger.Charge) {
	t.Helper()
	err := store.Write(t.Context(), func(ctx context.Context, tx *sql.Tx) error { return store.Charge(ctx, tx, charges...) })
	if err != nil {
		t.Fatal(err)
	}
}
