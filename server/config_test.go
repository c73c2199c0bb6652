package server

import (
	"strings"
	"testing"
)

func TestConfigValidate(t *testing.T) {
	if problems := (Config{}).Validate(); problems != nil {
		t.Errorf("the zero value is refused: %v", problems)
	}
	for want, config := range map[string]Config{
		"grpc: ":                   {GRPC: "nonsense"},
		"http: ":                   {HTTP: "nonsense"},
		"max_message_bytes: ":      {MaxMessageBytes: 5},
		"max_requests: ":           {MaxRequests: -1},
		"max_streams: ":            {MaxStreams: -1},
		"stream_width: ":           {StreamWidth: -1},
		"body_timeout: ":           {BodyTimeout: -1},
		"drain_timeout: ":          {DrainTimeout: -1},
		"allowed_origins[1]: ":     {AllowedOrigins: []string{"https://app.example", "https://app.example/page"}},
		"allowed_origins[0]: ":     {AllowedOrigins: []string{"*"}},
		"tls.key_file: ":           {TLS: TLSConfig{CertFile: "cert.pem"}},
		"tls.client_ca_file: ":     {TLS: TLSConfig{ClientCAFile: "ca.pem"}},
		"tls.require_client: need": {TLS: TLSConfig{RequireClient: true}},
	} {
		if problems := config.Validate(); len(problems) != 1 || !strings.HasPrefix(problems[0].Error(), want) {
			t.Errorf("Validate = %v, want one problem of %s", problems, want)
		}
	}
}

func TestOpenServicesAreForThisMachine(t *testing.T) {
	for _, test := range []struct {
		config  Config
		refused int
	}{
		{Config{}, 0},
		{Config{GRPC: "[::1]:0", HTTP: "localhost:0"}, 0},
		{Config{GRPC: "0.0.0.0:0", HTTP: ":0"}, 2},
		{Config{GRPC: "0.0.0.0:0", HTTP: ":0", AllowRemote: true}, 0},
	} {
		if problems := test.config.ValidateOpen(); len(problems) != test.refused {
			t.Errorf("%+v: %v, want %d problems", test.config, problems, test.refused)
		}
	}
	remote := Config{GRPC: "0.0.0.0:0", HTTP: "0.0.0.0:0"}
	if _, err := Listen(remote, Parts{}); err == nil {
		t.Error("an open service listens to other machines")
	}
	server, err := Listen(remote, Parts{Accounts: keyring{}})
	if err != nil {
		t.Fatalf("with accounts: %v", err)
	}
	server.grpc.Stop()
	server.grpcDoor.Close()
	server.httpDoor.Close()
}
