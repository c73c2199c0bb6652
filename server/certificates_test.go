package server

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// authority signs certificates for tests.
type authority struct {
	t           *testing.T
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pem         []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.pem, _, a.certificate, a.key = a.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
	return a
}

// sign makes a certificate and its key in PEM; an authority's first is its own.
func (a *authority) sign(template *x509.Certificate) (certPEM, keyPEM []byte, certificate *x509.Certificate, key *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	template.SerialNumber, _ = rand.Int(rand.Reader, big.NewInt(1<<62))
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.certificate, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	certificate, _ = x509.ParseCertificate(der)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), certificate, key
}

// serverPair makes the service's files anew.
func (a *authority) serverPair(folder string) {
	a.t.Helper()
	cert, key, _, _ := a.sign(&x509.Certificate{DNSNames: []string{"localhost"}})
	writeFile(a.t, filepath.Join(folder, "tls.key"), key)
	writeFile(a.t, filepath.Join(folder, "tls.crt"), cert)
}

func (a *authority) client(names ...string) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if uri, err := url.Parse(name); err == nil && uri.Scheme != "" {
			template.URIs = append(template.URIs, uri)
		} else {
			template.Subject.CommonName = name
		}
	}
	cert, key, _, _ := a.sign(template)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		a.t.Fatal(err)
	}
	return pair
}

func writeFile(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// trusting is a client's TLS configuration that trusts the authority.
func (a *authority) trusting(shown ...tls.Certificate) *tls.Config {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return &tls.Config{RootCAs: pool, ServerName: "localhost", Certificates: shown}
}

// secured runs a server with TLS from the folder's files, and its accounts.
func secured(t *testing.T, folder string, ours *authority, require bool) *edge {
	ours.serverPair(folder)
	writeFile(t, filepath.Join(folder, "clients.crt"), ours.pem)
	accounts := ring()
	accounts["name:spiffe://acme.example/crm"] = accounts["sales-key"]
	accounts["name:crm"] = accounts["sales-key"]
	return start(t, echo, withAccounts(accounts), func(config *Config, _ *Parts) {
		config.TLS = TLSConfig{
			CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"),
			ClientCAFile: filepath.Join(folder, "clients.crt"), RequireClient: require,
		}
	})
}

// askTLS asks over both paths, each on a connection of its own, and returns the
// codes.
func (e *edge) askTLS(t *testing.T, config *tls.Config, key string) (overGRPC codes.Code, overREST int, presented *x509.Certificate) {
	t.Helper()
	conn, err := grpc.NewClient(e.conn.Target(), grpc.WithTransportCredentials(credentials.NewTLS(config)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := t.Context()
	if key != "" {
		ctx = showing(ctx, key)
	}
	_, err = enrichv1.NewEnrichServiceClient(conn).Enrich(ctx, emailOf("x"))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}}
	defer client.CloseIdleConnections()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.Replace(e.http, "http://", "https://", 1)+"/v1/enrich", strings.NewReader(`{"email":"x"}`))
	request.Header.Set("X-Api-Key", key)
	response, restErr := client.Do(request)
	if restErr != nil {
		return status.Code(err), 0, nil
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	if response.ProtoMajor != 2 {
		t.Errorf("REST over TLS speaks %s", response.Proto)
	}
	return status.Code(err), response.StatusCode, response.TLS.PeerCertificates[0]
}

func TestCertificatesNameAccounts(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	edge := secured(t, t.TempDir(), ours, false)
	for name, test := range map[string]struct {
		shown []tls.Certificate
		key   string
		grpc  codes.Code
		rest  int
	}{
		"nothing":                     {nil, "", codes.Unauthenticated, 401},
		"a key":                       {nil, "sales-key", codes.OK, 200},
		"a URI":                       {[]tls.Certificate{ours.client("spiffe://acme.example/crm")}, "", codes.OK, 200},
		"a common name":               {[]tls.Certificate{ours.client("crm")}, "", codes.OK, 200},
		"another name":                {[]tls.Certificate{ours.client("other")}, "", codes.Unauthenticated, 401},
		"another name, and a key":     {[]tls.Certificate{ours.client("other")}, "sales-key", codes.OK, 200},
		"a name, and a wrong key":     {[]tls.Certificate{ours.client("crm")}, "wrong", codes.Unauthenticated, 401},
		"a name by another authority": {[]tls.Certificate{theirs.client("crm")}, "", codes.Unauthenticated, 401},
	} {
		overGRPC, overREST, _ := edge.askTLS(t, ours.trusting(test.shown...), test.key)
		if name == "a name by another authority" && overREST == 0 {
			continue // refused in the handshake
		}
		if overGRPC != test.grpc || overREST != test.rest {
			t.Errorf("%s: gRPC %s, REST %d", name, overGRPC, overREST)
		}
	}
}

func TestRequiredCertificates(t *testing.T) {
	ours := newAuthority(t)
	edge := secured(t, t.TempDir(), ours, true)
	if overGRPC, overREST, _ := edge.askTLS(t, ours.trusting(), "sales-key"); overGRPC != codes.Unavailable || overREST != 0 {
		t.Errorf("without a certificate: gRPC %s, REST %d", overGRPC, overREST)
	}
	if overGRPC, overREST, _ := edge.askTLS(t, ours.trusting(ours.client("crm")), ""); overGRPC != codes.OK || overREST != 200 {
		t.Errorf("with one: gRPC %s, REST %d", overGRPC, overREST)
	}
}

// TestCertificatesAreReadAgain replaces the files while a connection stands, and
// breaks them afterwards.
func TestCertificatesAreReadAgain(t *testing.T) {
	ours, folder := newAuthority(t), t.TempDir()
	edge := secured(t, folder, ours, false)
	conn, err := grpc.NewClient(edge.conn.Target(), grpc.WithTransportCredentials(credentials.NewTLS(ours.trusting())))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	standing := enrichv1.NewEnrichServiceClient(conn)
	stream := openStream(t, showing(t.Context(), "sales-key"), standing)
	_, _, first := edge.askTLS(t, ours.trusting(), "sales-key")

	ours.serverPair(folder)
	touch(t, folder, time.Minute)
	edge.lookAgain()
	code, _, second := edge.askTLS(t, ours.trusting(), "sales-key")
	if code != codes.OK || second.SerialNumber.Cmp(first.SerialNumber) == 0 {
		t.Error("the new certificate is not shown")
	}
	writeFile(t, filepath.Join(folder, "tls.crt"), []byte("half a certifi"))
	touch(t, folder, 2*time.Minute)
	edge.lookAgain()
	if code, _, third := edge.askTLS(t, ours.trusting(), "sales-key"); code != codes.OK || third.SerialNumber.Cmp(second.SerialNumber) != 0 {
		t.Errorf("with a broken file: %s", code)
	}
	_ = stream.Send(questionOf(1))
	if answer, err := stream.Recv(); err != nil || answer.GetResponse() == nil {
		t.Errorf("the connection of before: %v", err)
	}
	_ = stream.CloseSend()
	if _, err := stream.Recv(); err != io.EOF {
		t.Error(err)
	}
}

// touch makes all files newer, so that clocks of files cannot hide a change.
func touch(t *testing.T, folder string, by time.Duration) {
	t.Helper()
	for _, name := range []string{"tls.crt", "tls.key"} {
		at := time.Now().Add(by)
		if err := os.Chtimes(filepath.Join(folder, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// lookAgain lets the next handshake look at the files at once.
func (e *edge) lookAgain() {
	certificates := e.server.certificates
	certificates.mu.Lock()
	defer certificates.mu.Unlock()
	certificates.looked = time.Time{}
}

func TestBrokenCertificatesAreNotServed(t *testing.T) {
	folder := t.TempDir()
	newAuthority(t).serverPair(folder)
	writeFile(t, filepath.Join(folder, "empty"), nil)
	for name, files := range map[string]TLSConfig{
		"no file":     {CertFile: filepath.Join(folder, "none"), KeyFile: filepath.Join(folder, "tls.key")},
		"no key":      {CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "empty")},
		"no client's": {CertFile: filepath.Join(folder, "tls.crt"), KeyFile: filepath.Join(folder, "tls.key"), ClientCAFile: filepath.Join(folder, "empty")},
	} {
		if _, err := Listen(Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", TLS: files}, Parts{}); err == nil || !strings.Contains(err.Error(), "tls: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// slowHandshake is a connection whose caller answers the server's part of a TLS
// handshake late.
type slowHandshake struct {
	net.Conn
	writes         int
	begun, goAhead chan struct{}
}

func (s *slowHandshake) Write(p []byte) (int, error) {
	if s.writes++; s.writes == 2 {
		close(s.begun)
		<-s.goAhead
	}
	return s.Conn.Write(p)
}

// TestDrainEndsConnectionsWhoseHandshakeWasUnderWay has a connection that comes to
// speak HTTP/2 when net/http has told all others that the service stops.
func TestDrainEndsConnectionsWhoseHandshakeWasUnderWay(t *testing.T) {
	ours := newAuthority(t)
	edge := secured(t, t.TempDir(), ours, false)
	told := make(chan struct{})
	edge.server.http.RegisterOnShutdown(sync.OnceFunc(func() { close(told) }))
	conn, err := net.Dial("tcp", edge.server.HTTPAddress())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	slow := &slowHandshake{Conn: conn, begun: make(chan struct{}), goAhead: make(chan struct{})}
	config := ours.trusting()
	config.NextProtos = []string{"h2"}
	client := tls.Client(slow, config)
	go func() {
		_, _ = client.Write([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"))
	}()
	<-slow.begun
	edge.cancelServe()
	<-told
	close(slow.goAhead)
	_ = client.SetReadDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.Copy(io.Discard, client); err != nil {
		t.Errorf("a connection without a request holds the drain up: %v", err)
		_ = conn.Close()
	}
	edge.stop()
}
