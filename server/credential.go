package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/enrichd/enrichd/enrich"
)

// credential is what a caller shows.
type credential struct {
	// key is an API key; empty without one.
	key string
	// certificate is the client's, verified; nil without one. A key goes before
	// it.
	certificate *x509.Certificate
}

// errUnauthenticated is the answer to every caller who is not known, with a key
// or without.
var errUnauthenticated = &enrich.Error{
	Kind: enrich.Unauthenticated, Reason: "api_key", Offset: -1,
	Message: "no known API key: send one as Authorization: Bearer or as x-api-key",
}

// authenticate tells who asks.
func (s *Server) authenticate(shown credential) (Caller, error) {
	if shown.key == "" && shown.certificate != nil {
		for _, name := range namesOf(shown.certificate) {
			if caller, known := s.parts.Accounts.ByName(name); known {
				return caller, nil
			}
		}
	}
	if caller, known := s.parts.Accounts.ByKey(shown.key); known {
		return caller, nil
	}
	return Caller{}, errUnauthenticated
}

// namesOf are the names that a certificate was issued for, the most particular
// first.
func namesOf(certificate *x509.Certificate) []string {
	names := make([]string, 0, len(certificate.URIs)+len(certificate.DNSNames)+1)
	for _, uri := range certificate.URIs {
		names = append(names, uri.String())
	}
	names = append(names, certificate.DNSNames...)
	if common := certificate.Subject.CommonName; common != "" {
		names = append(names, common)
	}
	return names
}

// keyIn is the API key in the values of the two headers that carry one, of which
// a bearer's goes before the other. A header that comes twice shows no known key:
// what stands before the service may have looked at another one of the two.
func keyIn(authorization, apiKey []string) string {
	if len(authorization) > 1 || len(apiKey) > 1 {
		return "two"
	}
	if scheme, token, _ := strings.Cut(strings.Join(authorization, ""), " "); strings.EqualFold(scheme, "bearer") {
		return strings.TrimSpace(token)
	}
	return strings.Join(apiKey, "")
}

func (s *Server) credentialOfGRPC(ctx context.Context, call *call) credential {
	shown := credential{key: keyIn(call.headers["authorization"], call.headers["x-api-key"])}
	if s.config.TLS.ClientCAFile != "" {
		if caller, ok := peer.FromContext(ctx); ok {
			if info, ok := caller.AuthInfo.(credentials.TLSInfo); ok {
				shown.certificate = verified(&info.State)
			}
		}
	}
	return shown
}

func credentialOfREST(r *http.Request) credential {
	return credential{key: keyIn(r.Header["Authorization"], r.Header["X-Api-Key"]), certificate: verified(r.TLS)}
}

// verified is the client's certificate, when it was checked against our
// authorities.
func verified(connection *tls.ConnectionState) *x509.Certificate {
	if connection == nil || len(connection.VerifiedChains) == 0 {
		return nil
	}
	return connection.VerifiedChains[0][0]
}
