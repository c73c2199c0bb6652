package server

import (
	"context"
	"crypto/rand"
	"errors"
	"runtime/debug"

	"github.com/enrichd/enrichd/enrich"
)

// withRequestID gives a request the id under which its errors are answered and
// logged. It is always our own: a caller's would end up in the log.
func withRequestID(ctx context.Context) context.Context {
	return enrich.WithRequestID(ctx, rand.Text())
}

func requestIDOf(ctx context.Context) string { return enrich.RequestID(ctx) }

// panicked turns a panic into an error. What was panicked with may hold what
// the caller sent, so only the stack is logged.
func (s *Server) panicked(ctx context.Context) error {
	s.log.ErrorContext(ctx, "panic", "request_id", requestIDOf(ctx), "stack", string(debug.Stack()))
	return s.statusOf(ctx, errors.New("panic"))
}
