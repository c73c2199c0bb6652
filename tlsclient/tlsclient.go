// Package tlsclient reads the files by which a client trusts a server and shows
// who it is.
package tlsclient

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Files are the paths of PEM files.
type Files struct {
	// Authorities are trusted; empty: the system's are.
	Authorities string
	// Certificate and Key are shown to servers that ask; empty: nothing is.
	Certificate, Key string
}

// Config reads the files. An error begins with what the user calls the field of the
// authorities, or the fields of the pair.
func (f Files) Config(authorities, pair string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	var problems []error
	if f.Authorities != "" {
		text, err := os.ReadFile(f.Authorities)
		config.RootCAs = x509.NewCertPool()
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", authorities, err))
		case !config.RootCAs.AppendCertsFromPEM(text):
			problems = append(problems, fmt.Errorf("%s: %s holds no certificate", authorities, f.Authorities))
		}
	}
	switch {
	case (f.Certificate == "") != (f.Key == ""):
		problems = append(problems, fmt.Errorf("%s: certificate and key go together", pair))
	case f.Certificate != "":
		certificate, err := tls.LoadX509KeyPair(f.Certificate, f.Key)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", pair, err))
		}
		config.Certificates = []tls.Certificate{certificate}
	}
	return config, errors.Join(problems...)
}
