package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
	enrichv1 "github.com/enrichd/enrichd/proto/enrich/v1"
)

func TestEveryKindHasItsCodeAndNothingInternalIsSent(t *testing.T) {
	for _, kind := range enrich.ErrorKinds {
		if _, ok := grpcCodes[kind]; !ok {
			t.Errorf("kind %s has no code", kind)
		}
	}
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, errors.New("a secret of the inside")
	})
	_, err := edge.grpc.Enrich(t.Context(), emailOf("x"))
	info := detail[*errdetails.ErrorInfo](err)
	if status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") || info.GetMetadata()["request_id"] == "" {
		t.Errorf("error = %v with %v", err, info)
	}
	edge.stop()
	if log := edge.log.String(); !strings.Contains(log, "a secret of the inside") || !strings.Contains(log, info.GetMetadata()["request_id"]) {
		t.Errorf("the log does not explain the request: %s", log)
	}
}

func TestThrottledSaysWhenToComeBack(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Throttled, Message: "all providers are paused", Offset: -1, ReadyAt: time.Now().Add(1500 * time.Millisecond)}
	})
	_, err := edge.grpc.Enrich(t.Context(), emailOf("x"))
	delay := detail[*errdetails.RetryInfo](err).GetRetryDelay().AsDuration()
	if status.Code(err) != codes.ResourceExhausted || delay <= time.Second || delay > 1500*time.Millisecond {
		t.Errorf("error = %v, delay %s", err, delay)
	}
	code, header, _ := edge.post(t, `{"email":"x"}`)
	if code != http.StatusTooManyRequests || header.Get("Retry-After") != "2" {
		t.Errorf("REST answered %d with Retry-After %q, want 429 and 2", code, header.Get("Retry-After"))
	}
}

func TestPanicBecomesInternal(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) { panic("jane@acme.example") })
	if _, err := edge.grpc.Enrich(t.Context(), emailOf("x")); status.Code(err) != codes.Internal {
		t.Errorf("gRPC error = %v", err)
	}
	if code, _, _ := edge.post(t, `{"email":"x"}`); code != http.StatusInternalServerError {
		t.Errorf("REST answered %d", code)
	}
	edge.stop()
	if strings.Contains(edge.log.String(), "jane") {
		t.Error("what was panicked with reached the log")
	}
}

func TestEndedCallsAreNotInternal(t *testing.T) {
	log := &strings.Builder{}
	s := &Server{log: slog.New(slog.NewTextHandler(log, nil))}
	cancelled, cancel := context.WithCancel(enrich.WithRequestID(t.Context(), "id"))
	cancel()
	late, cancelLate := context.WithTimeout(enrich.WithRequestID(t.Context(), "id"), -1)
	defer cancelLate()
	for _, test := range []struct {
		ctx  context.Context
		err  error
		want codes.Code
	}{
		{cancelled, fmt.Errorf("while waiting: %w", context.Canceled), codes.Canceled},
		{late, fmt.Errorf("while waiting: %w", context.Canceled), codes.DeadlineExceeded},
		{late, context.DeadlineExceeded, codes.DeadlineExceeded},
	} {
		err := s.statusOf(test.ctx, test.err)
		if status.Code(err) != test.want || detail[*errdetails.ErrorInfo](err).GetMetadata()["request_id"] == "" || log.Len() > 0 {
			t.Errorf("status = %v, want %s with a request id; log %s", err, test.want, log)
		}
	}
	if err := s.statusOf(t.Context(), &enrich.Error{Kind: "new"}); status.Code(err) != codes.Internal {
		t.Errorf("an unknown kind became %v", err)
	}
}

// TestEveryErrorHasARequestID walks the ways in which our code refuses.
func TestEveryErrorHasARequestID(t *testing.T) {
	edge := start(t, func(context.Context, enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, &enrich.Error{Kind: enrich.Rejected, Offset: -1}
	})
	for _, test := range []struct{ name, method, path, body, header string }{
		{"the service's", "POST", "/v1/enrich", `{"email":"x"}`, "Accept: */*"},
		{"a rule", "POST", "/v1/enrich", `{}`, "Accept: */*"},
		{"JSON", "POST", "/v1/enrich", `{`, "Accept: */*"},
		{"too long", "POST", "/v1/enrich", strings.Repeat(" ", 65<<10), "Accept: */*"},
		{"a timeout", "POST", "/v1/enrich", `{"email":"x"}`, "Grpc-Timeout: jane"},
		{"a query", "POST", "/v1/enrich?email=jane", `{"email":"x"}`, "Accept: */*"},
		{"a path", "GET", "/nothing", ``, "Accept: */*"},
		{"a method", "GET", "/v1/enrich", ``, "Accept: */*"},
		{"a page's method", "POST", "/healthz", ``, "Accept: */*"},
		{"a coding", "POST", "/v1/enrich", `{"email":"x"}`, "Content-Encoding: br"},
		{"a type", "POST", "/v1/enrich", `{"email":"x"}`, "Content-Type: text/plain"},
		{"an origin", "POST", "/v1/enrich", `{"email":"x"}`, "Origin: https://evil.example"},
		{"a host", "GET", "/healthz", ``, "Host: evil.example"},
	} {
		code, header, body := edge.ask(t, test.method, test.path, test.body, test.header)
		id := detail[*errdetails.ErrorInfo](failed(t, body)).GetMetadata()["request_id"]
		if code < 400 || id == "" || header.Get("X-Request-Id") != id || header.Get("Content-Type") != "application/json" || strings.Contains(string(body), "jane") {
			t.Errorf("%s: answered %d, id %q, header %v: %s", test.name, code, id, header, body)
		}
	}
	err := edge.conn.Invoke(t.Context(), "/enrich.v1.EnrichService/Nothing", emailOf("x"), &enrichv1.EnrichResponse{})
	if status.Code(err) != codes.Unimplemented || detail[*errdetails.ErrorInfo](err).GetMetadata()["request_id"] == "" {
		t.Errorf("an unknown method: %v", err)
	}
}
