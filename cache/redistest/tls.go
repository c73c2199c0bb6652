package redistest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Files are the PEM files of a server that speaks TLS, and that wants its
// clients to show a certificate.
type Files struct {
	// CA signed both certificates, which are one here.
	CA string
	// Cert and Key are those of the server and of its clients.
	Cert, Key string
}

// StartTLS runs a Redis to which only clients with a certificate may speak.
func StartTLS(t testing.TB) (*Server, Files) {
	t.Helper()
	files, config := issue(t)
	s := start(t, func(s *Server) {
		s.tls = config
		s.args = append(keepNothing, "--tls-cert-file", files.Cert, "--tls-key-file", files.Key, "--tls-ca-cert-file", files.CA)
	})
	return s, files
}

// issue makes a certificate that signs itself.
func issue(t testing.TB) (Files, *tls.Config) {
	t.Helper()
	must := func(err error) {
		if err != nil {
			t.Fatalf("redistest: %v", err)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "redistest"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().Add(time.Hour),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(err)
	private, err := x509.MarshalECPrivateKey(key)
	must(err)

	dir := t.TempDir()
	files := Files{CA: filepath.Join(dir, "cert.pem"), Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem")}
	must(os.WriteFile(files.Cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), 0o600))
	must(os.WriteFile(files.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private}), 0o600))

	pool := x509.NewCertPool()
	parsed, err := x509.ParseCertificate(cert)
	must(err)
	pool.AddCert(parsed)
	return files, &tls.Config{
		MinVersion:   tls.VersionTLS12,
		RootCAs:      pool,
		Certificates: []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: key}},
	}
}
