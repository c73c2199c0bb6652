package server

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	statuspb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestMain(m *testing.M) {
	if os.Getenv(overheadProcess) != "" {
		if err := serveOverhead(); err != nil {
			panic(err)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// enricherFunc is an Enricher made of a function.
type enricherFunc func(context.Context, enrich.Request) (enrich.Answer, error)

func (f enricherFunc) Enrich(ctx context.Context, request enrich.Request) (enrich.Answer, error) {
	return f(ctx, request)
}

// EnrichAll answers the requests one after another, the last first.
func (f enricherFunc) EnrichAll(ctx context.Context, requests []enrich.Request, each func(int, enrich.Answer, error)) {
	for i := len(requests) - 1; i >= 0; i-- {
		answer, err := f(ctx, requests[i])
		each(i, answer, err)
	}
}

// edge is a running server and a client for each path.
type edge struct {
	server *Server
	grpc   enrichv1.EnrichServiceClient
	admin  enrichv1.AdminServiceClient
	conn   *grpc.ClientConn
	http   string
	log    *bytes.Buffer // read only after stop
	// cancelServe begins the drain; stop also waits for its end.
	cancelServe, stop func()
}

// start runs a server with short messages on free ports; change may change what
// it obeys and what it stands before.
func start(t *testing.T, enricher enricherFunc, change ...func(*Config, *Parts)) *edge {
	t.Helper()
	log := &bytes.Buffer{}
	config := Config{GRPC: "127.0.0.1:0", HTTP: "127.0.0.1:0", MaxMessageBytes: 64 << 10}
	parts := Parts{Enricher: enricher, Log: slog.New(slog.NewJSONHandler(log, nil))}
	for _, each := range change {
		each(&config, &parts)
	}
	server, err := Listen(config, parts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	conn, err := grpc.NewClient(server.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		_ = conn.Close()
		http.DefaultClient.CloseIdleConnections()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(stop)
	return &edge{server: server, grpc: enrichv1.NewEnrichServiceClient(conn), admin: enrichv1.NewAdminServiceClient(conn), conn: conn, http: "http://" + server.HTTPAddress(), log: log, cancelServe: cancel, stop: stop}
}

// post sends a body to REST and returns status, headers and body.
func (e *edge) post(t *testing.T, body string) (int, http.Header, []byte) {
	t.Helper()
	return e.ask(t, http.MethodPost, "/v1/enrich", body, "Content-Type: application/json")
}

// ask sends a request with headers ("Name: value") to REST.
func (e *edge) ask(t *testing.T, method, path, body string, headers ...string) (int, http.Header, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, e.http+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		if request.Header.Add(name, value); name == "Host" {
			request.Host = value
		}
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, answer
}

// detail returns the first detail of the type, or its zero value.
func detail[T any](err error) (found T) {
	for _, each := range status.Convert(err).Details() {
		if typed, ok := each.(T); ok {
			return typed
		}
	}
	return found
}

// classOf is the class of an error, in its ErrorInfo.
func classOf(err error) string {
	if err == nil {
		return ""
	}
	return detail[*errdetails.ErrorInfo](err).GetMetadata()["class"]
}

// showing shows an API key.
func showing(ctx context.Context, key string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-api-key", key)
}

// emailOf is a request for an address.
func emailOf(address string) *enrichv1.EnrichRequest {
	return &enrichv1.EnrichRequest{Subject: &enrichv1.EnrichRequest_Email{Email: address}}
}

// failed reads the status that REST answered.
func failed(t *testing.T, body []byte) error {
	t.Helper()
	failure := &statuspb.Status{}
	if err := protojson.Unmarshal(body, failure); err != nil {
		t.Fatalf("the body is no google.rpc.Status: %v: %s", err, body)
	}
	return status.FromProto(failure).Err()
}

// unasked is an enricher that nothing may reach.
func unasked(t *testing.T) enricherFunc {
	return func(context.Context, enrich.Request) (enrich.Answer, error) {
		t.Error("a request that is refused reached the service")
		return enrich.Answer{}, nil
	}
}

// answered is an enricher that finds nothing wrong.
func answered(context.Context, enrich.Request) (enrich.Answer, error) { return enrich.Answer{}, nil }
