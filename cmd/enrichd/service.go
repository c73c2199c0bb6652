package main

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
	"github.com/enrichd/enrichd/tlsclient"
)

// serviceFlags say which running service a command asks, and who asks it.
type serviceFlags struct {
	Server  string `env:"ENRICHD_SERVER" default:"127.0.0.1:8471" help:"The service's gRPC address."`
	Key     string `env:"ENRICHD_API_KEY" help:"The API key, better given as ENRICHD_API_KEY: arguments can be seen by others." placeholder:"KEY"`
	TLS     bool   `name:"tls" env:"ENRICHD_TLS" help:"Connect with TLS, to a service that one of the system's authorities knows."`
	CA      string `name:"ca" env:"ENRICHD_CA" help:"Connect with TLS, to a service that an authority in this PEM file knows." placeholder:"FILE"`
	Cert    string `name:"cert" env:"ENRICHD_CERT" help:"Connect with TLS and show this client certificate, a PEM file." placeholder:"FILE"`
	CertKey string `name:"cert-key" env:"ENRICHD_CERT_KEY" help:"The key of the client certificate, a PEM file." placeholder:"FILE"`
}

// dial makes a client; it connects when it is first used.
func (f serviceFlags) dial() (*client, error) {
	transport, err := f.transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{grpc.WithTransportCredentials(transport), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(mostOfAnswer))}
	if f.Key != "" {
		options = append(options, grpc.WithPerRPCCredentials(bearer(f.Key)))
	}
	connection, err := grpc.NewClient(f.Server, options...)
	if err != nil {
		return nil, err
	}
	return &client{connection: connection, service: enrichv1.NewEnrichServiceClient(connection), leads: enrichv1.NewLeadServiceClient(connection)}, nil
}

// mostOfAnswer is the longest answer that is read, such as a page of leads.
const mostOfAnswer = 64 << 20

func (f serviceFlags) transport() (credentials.TransportCredentials, error) {
	if !f.TLS && f.CA == "" && f.Cert == "" && f.CertKey == "" {
		return insecure.NewCredentials(), nil
	}
	config, err := tlsclient.Files{Authorities: f.CA, Certificate: f.Cert, Key: f.CertKey}.Config("--ca", "--cert, --cert-key")
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(config), nil
}

// bearer is an API key, shown with every call.
type bearer string

// GetRequestMetadata returns the key's header.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

// RequireTransportSecurity is false: on the same machine, or behind a proxy,
// clear text is usual.
func (bearer) RequireTransportSecurity() bool { return false }
