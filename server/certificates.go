package server

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// lookAgain is how often the files of certificates are looked at, when
// connections come.
const lookAgain = time.Second

// certificates are the files of a TLSConfig, read again when they change. Each
// handshake takes what is there; connections that stand go on. Safe for
// concurrent use.
type certificates struct {
	files TLSConfig
	log   *slog.Logger

	mu      sync.Mutex
	looked  time.Time
	stamps  [3]stamp
	current *tls.Config
}

// stamp tells versions of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

// newCertificates reads the files; nil without TLS.
func newCertificates(files TLSConfig, log *slog.Logger) (*certificates, error) {
	if files.CertFile == "" {
		return nil, nil
	}
	c := &certificates{files: files, log: log, looked: time.Now()}
	var err error
	if c.stamps, err = c.stamp(); err == nil {
		c.current, err = c.read()
	}
	if err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return c, nil
}

// config is what a listener is given, for the application protocols that it
// speaks.
func (c *certificates) config(protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			current := c.now().Clone()
			current.NextProtos = protocols
			return current, nil
		},
	}
}

// now is the newest configuration that could be read.
func (c *certificates) now() *tls.Config {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.looked) < lookAgain {
		return c.current
	}
	c.looked = time.Now()
	stamps, err := c.stamp()
	if err == nil && stamps == c.stamps {
		return c.current
	}
	fresh := c.current
	if err == nil {
		fresh, err = c.read()
	}
	if err != nil {
		// Files are not replaced all at once: the next look finds them whole.
		c.log.Warn("certificates could not be read again: those of before are used", "error", err)
		return c.current
	}
	c.log.Info("certificates were read again")
	c.stamps, c.current = stamps, fresh
	return fresh
}

func (c *certificates) stamp() (stamps [3]stamp, err error) {
	for i, file := range []string{c.files.CertFile, c.files.KeyFile, c.files.ClientCAFile} {
		if file == "" {
			continue
		}
		info, err := os.Stat(file)
		if err != nil {
			return stamps, err
		}
		stamps[i] = stamp{info.ModTime(), info.Size()}
	}
	return stamps, nil
}

func (c *certificates) read() (*tls.Config, error) {
	own, err := tls.LoadX509KeyPair(c.files.CertFile, c.files.KeyFile)
	if err != nil {
		return nil, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}}
	if c.files.ClientCAFile == "" {
		return config, nil
	}
	authorities, err := os.ReadFile(c.files.ClientCAFile)
	if err != nil {
		return nil, err
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(authorities) {
		return nil, errors.New("client_ca_file: holds no certificate")
	}
	config.ClientAuth = tls.VerifyClientCertIfGiven
	if c.files.RequireClient {
		config.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return config, nil
}
