package scenario_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/enrichd/enrichd/loadtest/scenario"
)

func withTarget(target string) (*scenario.Scenario, error) {
	return scenario.Parse("x.yaml", strings.NewReader("length: 5s\ntraffic: [{name: clicks}]\ntarget:\n  grpc: enrichd.example:8471\n  rest: api.example:443\n  "+target))
}

func TestWhomATargetsCertificateMustName(t *testing.T) {
	for target, want := range map[string]string{
		"tls: {}":                             "enrichd.example api.example",
		"tls: {ca_file: ca.pem}":              "enrichd.example api.example",
		"tls: {server_name: service.example}": "service.example service.example",
	} {
		s, err := withTarget(target)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Target.GRPCName + " " + s.Target.RESTName; s.Target.TLS == nil || got != want {
			t.Errorf("%s: %s, want %s", target, got, want)
		}
	}
	for target, want := range map[string]string{
		"tls:":                                   "target: tls: there is nothing behind it",
		"tls: ~":                                 "target: tls: there is nothing behind it",
		"tls: {cert_file: me.pem}":               "target: tls: cert_file and key_file",
		"tls: {key_file: me.key}":                "target: tls: cert_file and key_file",
		"tls: {server_name: \"service:8471\"}":   `target: tls: server_name: "service:8471"`,
		"tls: {insecure: true}":                  "insecure",
		"tls: {server_name: https://x.example/}": "target: tls: server_name",
	} {
		if _, err := withTarget(target); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", target, err, want)
		}
	}
}

func TestFilesOfTLSAreNamed(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(none, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := (&scenario.TLS{CAFile: none, CertFile: "missing.pem", KeyFile: "missing.key"}).Config()
	if err == nil || !strings.Contains(err.Error(), "ca_file: "+none+" holds no certificate") || !strings.Contains(err.Error(), "missing.pem") {
		t.Errorf("error %v, want both files named", err)
	}
}
