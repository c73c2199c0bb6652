package enrich

import "context"

// RequestIDKey is the key under which a context has its request's id, a string.
type RequestIDKey struct{}

// WithRequestID gives a context the id under which the log knows the request.
// It is made by the edge, never by the caller.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, RequestIDKey{}, id)
}

// RequestID returns the id of the request that a context belongs to; empty
// without one.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(RequestIDKey{}).(string)
	return id
}
