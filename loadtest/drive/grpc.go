package drive

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

// grpcDriver asks over one connection.
type grpcDriver struct {
	connection *grpc.ClientConn
	client     enrichv1.EnrichServiceClient
	key        string
}

func newGRPC(service Service) (*grpcDriver, error) {
	transport := insecure.NewCredentials()
	if service.TLS != nil {
		transport = credentials.NewTLS(service.TLS)
	}
	// Without a proxy of the environment: see NewClient.
	connection, err := grpc.NewClient(service.GRPC, grpc.WithTransportCredentials(transport), grpc.WithNoProxy())
	if err != nil {
		return nil, err
	}
	return &grpcDriver{connection: connection, client: enrichv1.NewEnrichServiceClient(connection), key: service.Key}, nil
}

func (d *grpcDriver) Ask(ctx context.Context, questions []Question, answered func(int, Answer)) {
	ctx = d.authorize(ctx)
	for i, question := range questions {
		response, err := d.client.Enrich(ctx, question.message())
		if err != nil {
			answered(i, Answer{Code: status.Code(err).String()})
			continue
		}
		answered(i, read(response))
	}
}

func (d *grpcDriver) authorize(ctx context.Context) context.Context {
	if d.key == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+d.key)
}

func (d *grpcDriver) Close() error { return d.connection.Close() }
