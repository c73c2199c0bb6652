package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

const exampleKey = "a-key-of-the-examples"

// busyREST passes on to the service, but refuses the first request.
type busyREST struct {
	t       *testing.T
	next    http.Handler
	refused atomic.Bool
}

func (b *busyREST) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if got := r.Header.Get("Authorization"); got != "Bearer "+exampleKey {
		b.t.Errorf("%s came with the authorization %q", r.URL.Path, got)
	}
	r.Header.Del("Authorization") // the demo knows no keys
	if b.refused.CompareAndSwap(false, true) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, `{"code":8,"message":"refused"}`, http.StatusTooManyRequests)
		return
	}
	_ = http.NewResponseController(w).EnableFullDuplex() // a stream's first answers come before its last question was read
	b.next.ServeHTTP(w, r)
}

// busyGRPC is busyREST for gRPC.
type busyGRPC struct {
	enrichv1.UnimplementedEnrichServiceServer
	t       *testing.T
	next    enrichv1.EnrichServiceClient
	refused atomic.Bool
}

// pass checks the key and refuses the first call.
func (b *busyGRPC) pass(ctx context.Context) error {
	sent, _ := metadata.FromIncomingContext(ctx)
	if got := strings.Join(sent.Get("authorization"), ","); got != "Bearer "+exampleKey {
		b.t.Errorf("a call came with the authorization %q", got)
	}
	if _, limited := ctx.Deadline(); !limited {
		b.t.Error("a call came without a deadline")
	}
	if !b.refused.CompareAndSwap(false, true) {
		return nil
	}
	busy, err := status.New(codes.ResourceExhausted, "refused").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(200 * time.Millisecond)})
	if err != nil {
		return err
	}
	return busy.Err()
}

func (b *busyGRPC) Enrich(ctx context.Context, request *enrichv1.EnrichRequest) (*enrichv1.EnrichResponse, error) {
	if err := b.pass(ctx); err != nil {
		return nil, err
	}
	return b.next.Enrich(ctx, request)
}

func (b *busyGRPC) BatchEnrich(ctx context.Context, request *enrichv1.BatchEnrichRequest) (*enrichv1.BatchEnrichResponse, error) {
	if err := b.pass(ctx); err != nil {
		return nil, err
	}
	return b.next.BatchEnrich(ctx, request)
}

func (b *busyGRPC) StreamEnrich(from grpc.BidiStreamingServer[enrichv1.StreamEnrichRequest, enrichv1.StreamEnrichResponse]) error {
	if err := b.pass(from.Context()); err != nil {
		return err
	}
	to, err := b.next.StreamEnrich(from.Context())
	if err != nil {
		return err
	}
	for {
		asked, err := from.Recv()
		if err == io.EOF {
			return to.CloseSend()
		}
		if err != nil {
			return err
		}
		if err := to.Send(asked); err != nil {
			return err
		}
		answer, err := to.Recv()
		if err != nil {
			return err
		}
		if err := from.Send(answer); err != nil {
			return err
		}
	}
}

// runExamples runs the clients of examples/ whose tools the machine has against
// a running service that refuses their first call.
func runExamples(t *testing.T, rest, grpcAddress string) {
	target := &url.URL{Scheme: "http", Host: rest}
	for name, command := range map[string]func(*testing.T) []string{"go": goExample, "python": pythonExample, "curl": curlExample, "typescript": nodeExample} {
		t.Run(name, func(t *testing.T) {
			words := command(t)
			web := httptest.NewServer(&busyREST{t: t, next: httputil.NewSingleHostReverseProxy(target)})
			defer web.Close()
			said := callExample(t, words, web.URL, startBusyGRPC(t, grpcAddress))
			if found := strings.Count(said, "Mara Lindqvist"); found != 3 {
				t.Errorf("the lead is found %d times, want in one, batch and stream:\n%s", found, said)
			}
			if failed := strings.Count(said, "cannot be read"); failed < 2 { // curl shows their details too
				t.Errorf("%d errors are shown, want those of batch and stream:\n%s", failed, said)
			}
			if strings.Contains(said, "refused") {
				t.Errorf("it did not wait when it was told to:\n%s", said)
			}
		})
	}
}

func startBusyGRPC(t *testing.T, service string) (address string) {
	t.Helper()
	next, err := serviceFlags{Server: service}.dial()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	enrichv1.RegisterEnrichServiceServer(server, &busyGRPC{t: t, next: next.service})
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-served; next.close() })
	return listener.Addr().String()
}

// callExample runs a client on a lead and on a cell that is none.
func callExample(t *testing.T, words []string, url, grpcAddress string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	process := exec.CommandContext(ctx, words[0], append(words[1:], "mara.lindqvist@northwind.example", "n/a")...)
	process.Env = append(os.Environ(), "ENRICHD_URL="+url, "ENRICHD_GRPC="+grpcAddress, "ENRICHD_KEY="+exampleKey)
	var failed bytes.Buffer
	process.Stderr = &failed
	said, err := process.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, said, &failed)
	}
	return string(said)
}

func goExample(*testing.T) []string { return []string{"go", "run", "-race", "../../examples/go"} }

func curlExample(t *testing.T) []string {
	need(t, "curl")
	return []string{"../../examples/curl/enrich.sh"}
}

// nodeExample needs a Node.js that takes types off by itself.
func nodeExample(t *testing.T) []string {
	need(t, "node")
	typed := filepath.Join(t.TempDir(), "typed.ts")
	if err := os.WriteFile(typed, []byte("const one: number = 1;"), 0o600); err != nil {
		t.Fatal(err)
	}
	if exec.CommandContext(t.Context(), "node", typed).Run() != nil {
		t.Skip("the installed node does not run TypeScript: 22.18 or newer does")
	}
	return []string{"node", "../../examples/typescript/enrich.ts"}
}

// pythonExample generates the contract's code into a folder of its own.
func pythonExample(t *testing.T) []string {
	need(t, "protoc")
	need(t, "grpc_python_plugin")
	for _, python := range []string{"python3", "/usr/bin/python3"} { // another one may go before the system's
		if exec.CommandContext(t.Context(), python, "-c", "import grpc").Run() != nil {
			continue
		}
		generated := t.TempDir()
		if said, err := exec.CommandContext(t.Context(), "../../examples/python/generate.sh", generated).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, said)
		}
		return []string{"env", "PYTHONPATH=" + generated, python, "../../examples/python/client.py"}
	}
	t.Skip("no python3 with grpcio is installed (Debian package python3-grpcio)")
	return nil
}

func need(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		t.Skipf("%s is not installed", tool)
	}
}
