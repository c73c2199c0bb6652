package main

import (
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

func TestDryRunTellsEverybodyWhoWouldBeAsked(t *testing.T) {
	var said strings.Builder
	sayWhatWouldBeDone(&said, &scenario.Scenario{
		Name:    "mine",
		Target:  &scenario.Target{GRPC: "127.0.0.1:1", REST: "127.0.0.1:2", Vendors: "127.0.0.1:3", KeyFile: "key.txt"},
		Traffic: []scenario.Traffic{{Name: "clicks", Rate: 5, Workload: scenario.Workload{Kind: "csv", File: "leads.csv"}}},
	})
	for _, want := range []string{"grpc at 127.0.0.1:1", "rest at 127.0.0.1:2", "ledgers at 127.0.0.1:3", "key.txt", "leads.csv", "--really"} {
		if !strings.Contains(said.String(), want) {
			t.Errorf("nothing of %q in:\n%s", want, said.String())
		}
	}
	said.Reset()
	sayWhatWouldBeDone(&said, &scenario.Scenario{Target: &scenario.Target{
		GRPC: "127.0.0.1:1", GRPCName: "enrichd.example", Vendors: "127.0.0.1:3", KeyFile: "key.txt", TLS: &scenario.TLS{CertFile: "me.pem"},
	}})
	for want, told := range map[string]bool{
		"grpc at 127.0.0.1:1, with TLS, by the certificate of enrichd.example\n": true, "ledgers at 127.0.0.1:3\n": true,
		"certificate in me.pem": true, "key.txt": true, "without encryption": false,
	} {
		if strings.Contains(said.String(), want) != told {
			t.Errorf("%q is told: %t, in:\n%s", want, !told, said.String())
		}
	}
}

// TestFilesAreOpenedBeforeTheRun runs nothing and asks nobody.
func TestFilesAreOpenedBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	mine := write("mine.yaml", `
length: 1s
target: {grpc: "127.0.0.1:1", key_file: `+write("key.txt", " \n")+`, tls: {ca_file: `+write("ca.pem", "none")+`}}
traffic: [{name: clicks, workload: {kind: csv, file: `+filepath.Join(dir, "leads.csv")+`}}]
`)
	err := (&runCommand{Scenarios: []string{mine}}).Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "leads.csv") || !strings.Contains(err.Error(), "key.txt is empty") || !strings.Contains(err.Error(), "ca.pem holds no certificate") {
		t.Errorf("error %v, want all files named", err)
	}
	authority := httptest.NewTLSServer(nil)
	defer authority.Close()
	write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: authority.Certificate().Raw})))
	write("leads.csv", "email\nada@acme.example\n")
	write("key.txt", "k")
	if err := (&runCommand{Scenarios: []string{mine}}).Run(t.Context()); err != nil {
		t.Errorf("a dry run: %v", err)
	}
}
