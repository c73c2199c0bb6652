package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/csv"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/accounts"
	"github.com/enrichd/enrichd/app"
	"github.com/enrichd/enrichd/config"
	"github.com/enrichd/enrichd/ledger/pgtest"
)

// office is a running service with a store, and what its operators type.
type office struct {
	t       *testing.T
	folder  string
	config  string
	address string
	stop    func()
}

// serveLeads runs a service with fake vendors, TLS, and one account whose key is
// in the environment.
func serveLeads(t *testing.T) *office {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	_, address, serve, err := startDemoVendors(ctx)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- serve() }()
	o := &office{t: t, folder: t.TempDir()}
	certificate, certificateKey := o.issue()
	key := accounts.NewKey()
	hash, err := accounts.HashKey(key)
	if err != nil {
		t.Fatal(err)
	}
	o.config = filepath.Join(o.folder, "enrichd.yaml")
	o.write(o.config, fmt.Sprintf(`
server: {grpc: "127.0.0.1:0", http: "127.0.0.1:0", tls: {cert_file: "%s", key_file: "%s"}}
accounts: {list: [{name: operators, keys: [{hash: "%s"}], admin: true}]}
store: {path: "%s"}
sinks: {files: [{name: archive, path: "%s"}]}
providers: {list: [{definition: hunter, base_url: "%s/hunter", allow_private: true, credentials: {api_key: demo}}]}
`, certificate, certificateKey, hash, filepath.Join(o.folder, "leads.db"), filepath.Join(o.folder, "results.ndjson"), address))
	loaded, err := config.Load(o.config)
	if err != nil {
		t.Fatal(err)
	}
	service, err := app.New(t.Context(), loaded, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(context.Background())
	go func() { served <- service.Run(running) }()
	o.address = service.GRPCAddress()
	o.stop = func() {
		end()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(func() {
		cancel()
		<-served
	})
	t.Setenv("ENRICHD_SERVER", o.address)
	t.Setenv("ENRICHD_CA", certificate)
	t.Setenv("ENRICHD_API_KEY", key)
	return o
}

// issue writes a certificate that is its own authority, and its key.
func (o *office) issue() (certificate, key string) {
	o.t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		o.t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		o.t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		o.t.Fatal(err)
	}
	certificate, key = filepath.Join(o.folder, "tls.crt"), filepath.Join(o.folder, "tls.key")
	o.write(certificate, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	o.write(key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})))
	return certificate, key
}

func (o *office) write(path, text string) {
	o.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// says runs a command that succeeds and returns what it prints.
func (o *office) says(args ...string) string {
	o.t.Helper()
	code, out, failed := command(o.t, "", args...)
	if code != 0 {
		o.t.Fatalf("enrichd %s: exit code %d: %s", strings.Join(args, " "), code, failed)
	}
	return out
}

// lines are the objects that a command prints with --json.
func (o *office) lines(args ...string) (all []map[string]any) {
	o.t.Helper()
	for _, line := range strings.Split(strings.TrimSpace(o.says(append(args, "--json")...)), "\n") {
		var object map[string]any
		if line == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			o.t.Fatalf("enrichd %v prints %q, which is no JSON", args, line)
		}
		all = append(all, object)
	}
	return all
}

const someLeads = "Name;E-Mail\nA;jane.doe@northwind.example\nB;not an address\nC;\"john.roe@northwind.example\nD;jane.doe@northwind.example\n"

// TestCommandsOverAService works with leads from the command line as an operator
// does, over TLS and with a key.
func TestCommandsOverAService(t *testing.T) {
	o := serveLeads(t)
	in, out := filepath.Join(o.folder, "leads.csv"), filepath.Join(o.folder, "out.csv")
	o.write(in, "\ufeff"+someLeads)

	if paused := o.lines("jobs", "pause", "lane", "bulk"); len(paused) != 1 || paused[0]["done"] != "paused" || paused[0]["to"] != "lane bulk" {
		t.Errorf("pause says %v", paused)
	}
	code, _, said := command(t, "", "enrich", "--file", in, "--out", out, "--patience", "1s")
	if code != 1 || !strings.Contains(said, "1 rows accepted, 1 repeated, 2 refused") || !strings.Contains(said, "4 rows, 4 failed") {
		t.Fatalf("while the lane is paused: exit code %d: %s", code, said)
	}
	waiting := o.lines("jobs", "list", "--state", "none")
	if len(waiting) != 1 {
		t.Fatalf("waiting: %v", waiting)
	}
	id := waiting[0]["id"].(string)
	if text := o.says("jobs", "status"); !strings.Contains(text, "lane bulk: operator, since ") || !strings.Contains(text, "bulk   none    1") {
		t.Errorf("the status does not say who paused: %s", text)
	}
	o.says("jobs", "resume", "lane", "bulk")
	code, _, said = command(t, "", "enrich", "--file", in, "--out", out)
	if code != 1 || !strings.Contains(said, "4 rows, 2 failed") {
		t.Fatalf("after the pause: exit code %d: %s", code, said)
	}
	rows, err := csv.NewReader(bytes.NewReader([]byte(readText(t, out)))).ReadAll()
	if err != nil || len(rows) != 5 || rows[1][2] == failedWord || rows[2][4] != "invalid_address (no_at)" || rows[3][4] != "damaged_row: line 4: unclosed quote" || rows[4][3] != rows[1][3] {
		t.Errorf("results = %q, %v", rows, err)
	}
	code, printed, said := command(t, someLeads, "enrich", "--file", "-")
	if code != 1 || !strings.Contains(said, "handed in") || strings.Count(printed, "\n") != 5 {
		t.Errorf("from standard input: exit code %d: %s%s", code, printed, said)
	}
	if code, _, said := command(t, someLeads, "enrich", "--file", "-", "--direct"); code != 1 || strings.Contains(said, "handed in") {
		t.Errorf("asked directly: exit code %d: %s", code, said)
	}
	if shown := o.lines("jobs", "show", id); shown[0]["answer"] == nil || shown[0]["timeline"] == nil {
		t.Errorf("show says %v", shown)
	}
	if charges := o.lines("jobs", "charges", "--since", "2026-01-31"); len(charges) == 0 || charges[0]["provider"] != "hunter" {
		t.Errorf("charges = %v", charges)
	}
	if charges := o.lines("jobs", "charges", "--since", time.Now().Add(time.Hour).Format(time.RFC3339)); len(charges) != 0 {
		t.Errorf("charges of the future = %v", charges)
	}
	if again := o.says("jobs", "retry", id); again != "retried "+id+"\n" {
		t.Errorf("retry says %q", again)
	}
	if none := o.lines("deadletters", "list"); len(none) != 0 {
		t.Errorf("dead letters: %v", none)
	}
	if replayed := o.lines("deadletters", "replay", "--all", "--dry-run"); len(replayed) != 1 || replayed[0]["replayed"] != "0" || replayed[0]["refused"] != "0" {
		t.Errorf("replay says %v", replayed)
	}
	if replayed := o.says("deadletters", "replay", "--reason", "unavailable"); replayed != "0 replayed, 0 refused\n" {
		t.Errorf("replay says %q", replayed)
	}
	if code, replayed, said := command(t, "", "deadletters", "replay", "nobody", "anybody"); code != 1 || !strings.HasPrefix(replayed, "0 replayed, 2 refused\n") || !strings.Contains(replayed, "gone") {
		t.Errorf("replay of letters that nobody knows: exit code %d, %q, %s", code, replayed, said)
	}
	for _, refused := range []struct {
		says string
		args []string
	}{
		{"unknown_id", []string{"jobs", "show", "nobody"}},
		{"unknown_id", []string{"jobs", "cancel", "nobody"}},
		{"unknown_id", []string{"jobs", "reset", "nobody"}},
		{"unknown_id", []string{"deadletters", "show", "nobody"}},
		{"unknown_id", []string{"deadletters", "resolve", "nobody"}},
		{"unknown_name", []string{"jobs", "pause", "lane", "express"}},
		{"name:", []string{"jobs", "pause", "lane"}},
		{"api_key", []string{"jobs", "status", "--key", "wrong"}},
		{"--since", []string{"jobs", "charges", "--since", "yesterday"}},
		{"name dead letters", []string{"deadletters", "replay"}},
	} {
		if code, _, said := command(t, "", refused.args...); code != 1 || !strings.Contains(said, refused.says) {
			t.Errorf("%v: exit code %d: %s", refused.args, code, said)
		}
	}
	t.Setenv("ENRICHD_CA", "")
	if code, _, said := command(t, "", "jobs", "status", "--tls"); code != 1 || !strings.Contains(said, "certificate") {
		t.Errorf("an authority that nobody knows: exit code %d: %s", code, said)
	}
	o.stop()
}

// TestAStoreMovesToPostgreSQL copies what a service accepted and goes on with it.
func TestAStoreMovesToPostgreSQL(t *testing.T) {
	o := serveLeads(t)
	in, out := filepath.Join(o.folder, "leads.csv"), filepath.Join(o.folder, "out.csv")
	o.write(in, someLeads)
	command(t, "", "enrich", "--file", in, "--out", out)
	o.says("jobs", "pause", "all")
	o.write(in, "email\nmary.poe@northwind.example\n")
	command(t, "", "enrich", "--file", in, "--patience", "100ms")
	if code, _, said := command(t, "", "store", "migrate", "--config", o.config, "--to", "postgres://127.0.0.1:1/none"); code != 1 || !strings.Contains(said, "use") {
		t.Errorf("while the service has the file: exit code %d: %s", code, said)
	}
	o.stop()
	database := pgtest.Start(t).Database(t)
	t.Setenv("ENRICHD_STORE_TO", database)
	if moved := o.lines("store", "migrate", "--config", o.config); len(moved) != 1 || moved[0]["leads"] != 2.0 {
		t.Fatalf("moved %v", moved)
	}
	if code, _, said := command(t, "", "store", "migrate", "--config", o.config); code != 1 || !strings.Contains(said, "not empty") {
		t.Errorf("moved twice: exit code %d: %s", code, said)
	}
	loaded, err := config.Load(o.config)
	if err != nil {
		t.Fatal(err)
	}
	loaded.Store.Path, loaded.Store.PostgreSQL = "", database
	service, err := app.New(t.Context(), loaded, app.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- service.Run(ctx) }()
	t.Setenv("ENRICHD_SERVER", service.GRPCAddress())
	if status := o.says("jobs", "status"); !strings.Contains(status, "all: operator") {
		t.Errorf("the pause did not move along: %s", status)
	}
	o.says("jobs", "resume", "all")
	limit := time.After(20 * time.Second)
	for tick := time.NewTicker(100 * time.Millisecond); len(o.lines("jobs", "list", "--state", "none", "--state", "processing")) > 0; {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("what waited was not worked off")
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
