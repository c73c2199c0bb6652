package scenario

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/enrichd/enrichd/tlsclient"
)

// Target is a running service.
type Target struct {
	// GRPC and REST are where it listens, as host:port.
	GRPC string `yaml:"grpc"`
	REST string `yaml:"rest"`
	// TLS encrypts what is asked of both; nil: nothing does.
	TLS *TLS `yaml:"tls"`
	// KeyFile holds the API key. Empty: none is sent.
	KeyFile string `yaml:"key_file"`
	// Vendors is the address (host:port) of an `enrichd fakevendor` whose
	// ledgers judge; it is asked without TLS. Empty: what clients saw is all there
	// is.
	Vendors string `yaml:"vendors"`

	// GRPCName and RESTName are whom certificates must name: the server name of
	// TLS, or else the hosts as the scenario writes them. GRPC and REST may be
	// replaced by the addresses of those hosts.
	GRPCName string `yaml:"-"`
	RESTName string `yaml:"-"`
}

// TLS is how a target shows who it is, and is shown who asks.
type TLS struct {
	// CAFile holds the authorities, in PEM, that may have signed the target's
	// certificate; empty: the system's.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile hold a client certificate and its key, in PEM; empty:
	// none is shown.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is whom the target's certificate must name; empty: the host of
	// the address.
	ServerName string `yaml:"server_name"`
}

// Config reads the files. Whom the certificate must name is left to the caller.
func (t *TLS) Config() (*tls.Config, error) {
	return tlsclient.Files{Authorities: t.CAFile, Certificate: t.CertFile, Key: t.KeyFile}.Config("ca_file", "cert_file and key_file")
}

func (t *Target) setDefaults() {
	t.GRPCName, t.RESTName = host(t.GRPC), host(t.REST)
	if t.TLS != nil && t.TLS.ServerName != "" {
		t.GRPCName, t.RESTName = t.TLS.ServerName, t.TLS.ServerName
	}
}

// host of an address; nothing when it has none, which the guard reports.
func host(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func (t *Target) problems() (problems []error) {
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if t.GRPC == "" && t.REST == "" {
		problem("neither grpc nor rest")
	}
	if t.TLS == nil {
		return problems
	}
	if (t.TLS.CertFile == "") != (t.TLS.KeyFile == "") {
		problem("tls: cert_file and key_file are set together")
	}
	if name := t.TLS.ServerName; strings.ContainsAny(name, ":/@ ") && net.ParseIP(name) == nil {
		problem("tls: server_name: %q is a host's name without a port", name)
	}
	return problems
}

// emptyTLS finds a target's "tls:" with nothing behind it. It would be read as
// none, and what was meant to be encrypted would not be.
func emptyTLS(raw map[string]any) error {
	target, _ := raw["target"].(map[string]any)
	if value, there := target["tls"]; there && value == nil {
		return errors.New("target: tls: there is nothing behind it; {} trusts the system's authorities")
	}
	return nil
}
