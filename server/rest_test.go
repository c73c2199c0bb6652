package server

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"

	"github.com/enrichd/enrichd/enrich"
)

func TestStandardCompanions(t *testing.T) {
	edge := start(t, nil)
	health, err := healthpb.NewHealthClient(edge.conn).Check(t.Context(), &healthpb.HealthCheckRequest{})
	if err != nil || health.GetStatus() != healthpb.HealthCheckResponse_SERVING {
		t.Errorf("health = %v, %v", health, err)
	}
	stream, err := reflectionpb.NewServerReflectionClient(edge.conn).ServerReflectionInfo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: "enrich.v1.EnrichService"}}); err != nil {
		t.Fatal(err)
	}
	if answer, err := stream.Recv(); err != nil || len(answer.GetFileDescriptorResponse().GetFileDescriptorProto()) == 0 {
		t.Errorf("reflection = %v, %v", answer, err)
	}
	_ = stream.CloseSend()
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json"} {
		response, err := http.Get(edge.http + path)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s answered %d", path, response.StatusCode)
		}
		if path == "/openapi.json" && !json.Valid(body) {
			t.Error("/openapi.json is not JSON")
		}
	}
}

func TestRoutes(t *testing.T) {
	edge := start(t, answered)
	for _, test := range []struct {
		method, path, allow string
		want                int
	}{
		{"POST", "/v1/enrich", "", 200},
		{"GET", "/v1/enrich", "POST", 405},
		{"HEAD", "/v1/enrich", "POST", 405},
		{"OPTIONS", "/v1/enrich", "POST", 405},
		{"DELETE", "/v1/enrich", "POST", 405},
		{"POST", "/v1/enrich/", "", 404},
		{"POST", "//v1/enrich", "", 404},
		{"POST", "/v1/nothing", "", 404},
		{"GET", "/", "", 404},
		{"GET", "/healthz", "", 200},
		{"HEAD", "/readyz", "", 200},
		{"POST", "/openapi.json", "GET, HEAD", 405},
		{"POST", "/v1/enrich?email=x", "", 400},
	} {
		code, header, body := edge.ask(t, test.method, test.path, `{"email":"x"}`)
		if code != test.want || header.Get("Allow") != test.allow {
			t.Errorf("%s %s: answered %d, Allow %q: %s", test.method, test.path, code, header.Get("Allow"), body)
		}
		if code >= 400 && test.method != "HEAD" {
			_ = failed(t, body)
		}
	}
}

func TestMethodIsWhatTheRequestLineSays(t *testing.T) {
	edge := start(t, answered)
	code, _, body := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, "Content-Type: application/x-www-form-urlencoded", "X-HTTP-Method-Override: DELETE")
	if code != http.StatusOK {
		t.Errorf("answered %d: %s", code, body)
	}
}

func TestPathPattern(t *testing.T) {
	for _, test := range []struct {
		template, path string
		want           bool
	}{
		{"/v1/enrich", "/v1/enrich", true},
		{"/v1/enrich", "/v1/enrichx", false},
		{"/v1/providers/{provider}:pause", "/v1/providers/hunter:pause", true},
		{"/v1/providers/{provider}:pause", "/v1/providers/hunter", false},
		{"/v1/providers/{provider}", "/v1/providers/a/b", false},
	} {
		if got := pathPattern(test.template).MatchString(test.path); got != test.want {
			t.Errorf("%s matches %s: %t", test.template, test.path, got)
		}
	}
}

// TestConnectionLimits checks what is refused before a request is there.
func TestConnectionLimits(t *testing.T) {
	edge := start(t, unasked(t))
	for name, test := range map[string]struct{ request, want string }{
		"long headers":     {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", "HTTP/1.1 431"},
		"two lengths":      {"POST /v1/enrich HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", "HTTP/1.1 400"},
		"h2c without TLS":  {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/1.1 404"},
		"a body for later": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60\r\n\r\nGET /v1/nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(edge.http, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		go fmt.Fprint(conn, test.request) // a refusal may come before all is sent
		reader := bufio.NewReader(conn)
		first, err := reader.ReadString('\n')
		if !strings.HasPrefix(first, test.want) {
			t.Errorf("%s: answered %q, %v; want %s", name, first, err, test.want)
		}
		if rest, _ := io.ReadAll(reader); strings.Contains(string(rest), "HTTP/1.1") {
			t.Errorf("%s: a second answer follows: %s", name, rest)
		}
		_ = conn.Close()
	}
}

func TestPipelinedRequestsAreAnsweredInOrder(t *testing.T) {
	edge := start(t, answered)
	conn, err := net.Dial("tcp", strings.TrimPrefix(edge.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	post := "POST /v1/enrich HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{\"email\":\"x\"}"
	fmt.Fprint(conn, post+"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"+strings.Replace(post, "enrich", "nothing", 1))
	reader := bufio.NewReader(conn)
	for _, want := range []int{200, 200, 404} {
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, _ = io.Copy(io.Discard, response.Body); response.StatusCode != want {
			t.Errorf("answered %d, want %d", response.StatusCode, want)
		}
		_ = response.Body.Close()
	}
}

// TestConnectionsServeOnAfterAnEmptyStream sends requests after streams without
// questions, all in one connection.
func TestConnectionsServeOnAfterAnEmptyStream(t *testing.T) {
	var asked, cancelled atomic.Int32
	edge := start(t, func(ctx context.Context, _ enrich.Request) (enrich.Answer, error) {
		asked.Add(1)
		if ctx.Err() != nil {
			cancelled.Add(1)
		}
		return enrich.Answer{}, nil
	})
	conn, err := net.Dial("tcp", strings.TrimPrefix(edge.http, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for range 200 {
		for _, request := range []string{":stream HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n", " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 13\r\n\r\n{\"email\":\"x\"}"} {
			fmt.Fprint(conn, "POST /v1/enrich"+request)
			response, err := http.ReadResponse(reader, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
	}
	if asked.Load() != 200 || cancelled.Load() != 0 {
		t.Errorf("of %d requests %d were cancelled whose callers wait", asked.Load(), cancelled.Load())
	}
}
