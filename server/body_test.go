package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestTooLongMessages(t *testing.T) {
	edge := start(t, unasked(t))
	long := strings.Repeat("x", 65<<10)
	if _, err := edge.grpc.Enrich(t.Context(), emailOf(long)); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("gRPC error code = %s", status.Code(err))
	}
	if code, _, _ := edge.post(t, `{"email":"`+long+`"}`); code != http.StatusRequestEntityTooLarge {
		t.Errorf("REST answered %d to a declared length", code)
	}
	response, err := http.Post(edge.http+"/v1/enrich", "application/json", io.MultiReader(strings.NewReader(`{"email":"`+long+`"}`)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, _ = io.Copy(io.Discard, response.Body); response.StatusCode != http.StatusRequestEntityTooLarge {
		t.Errorf("REST answered %d to a body of unknown length", response.StatusCode)
	}
}

// TestBrokenBodiesAreRefused sends bodies that are not framed as declared, and
// ends its half of the connection.
func TestBrokenBodiesAreRefused(t *testing.T) {
	edge := start(t, unasked(t))
	for name, rest := range map[string]string{
		"a bad chunk":     "Transfer-Encoding: chunked\r\n\r\n{\"ema\r\n",
		"half a chunk":    "Transfer-Encoding: chunked\r\n\r\n20\r\n{\"ema",
		"half the length": "Content-Length: 100\r\n\r\n{\"email\":",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", strings.TrimPrefix(edge.http, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "POST /v1/enrich HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%s", rest)
			_ = conn.(*net.TCPConn).CloseWrite()
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			problem := failed(t, body)
			if response.StatusCode != http.StatusBadRequest || status.Code(problem) != codes.InvalidArgument ||
				detail[*errdetails.ErrorInfo](problem).GetMetadata()["class"] != "broken_body" || !response.Close {
				t.Errorf("answered %d, close %t: %s", response.StatusCode, response.Close, body)
			}
		})
	}
}

func TestBodyForms(t *testing.T) {
	edge := start(t, answered)
	for _, test := range []struct {
		header string
		want   int
	}{
		{"Content-Type: application/json", http.StatusOK},
		{"Content-Type: application/json; charset=utf-8", http.StatusOK},
		{"Content-Type: application/x-www-form-urlencoded", http.StatusOK}, // curl -d
		{"X-None: 1", http.StatusOK},
		{"Content-Encoding: identity", http.StatusOK},
		{"Content-Type: text/plain", http.StatusUnsupportedMediaType},
		{"Content-Type: multipart/form-data; boundary=x", http.StatusUnsupportedMediaType},
		{"Content-Type: ;", http.StatusUnsupportedMediaType},
		{"Content-Encoding: br", http.StatusUnsupportedMediaType},
		{"Content-Encoding: gzip", http.StatusBadRequest}, // which it is not
	} {
		code, header, answer := edge.ask(t, http.MethodPost, "/v1/enrich", `{"email":"x"}`, test.header)
		if code != test.want {
			t.Errorf("%s: answered %d, want %d: %s", test.header, code, test.want, answer)
		}
		if strings.Contains(test.header, "br") && header.Get("Accept-Encoding") != "gzip, identity" {
			t.Errorf("%s: Accept-Encoding %q", test.header, header.Get("Accept-Encoding"))
		}
	}
}
