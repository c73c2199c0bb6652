package server

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc/codes"

	"github.com/enrichd/enrichd/enrich"
)

// call is one request under way, on either path, and the context that carries it:
// two values fewer to make and to look through. It belongs to the request's
// goroutine.
type call struct {
	context.Context
	// id is always our own: a caller's would end up in the log.
	id     string
	began  time.Time
	method *method // of the contract; nil for anything beside it
	caller Caller
	rate   standing
	// counted: the request is one of those under way.
	counted bool
	// form is how its answers are rendered.
	form enrich.RenderedForm
	// waits is told when the answer cannot come from memory alone any more; nil:
	// nobody needs to know.
	waits func()
	// recited is what answers it over REST, if it was rendered before.
	recited []byte
	// key is REST's Idempotency-Key; gRPC has it in the message.
	key string
	// code is what REST answered; gRPC's is in the error.
	code   codes.Code
	source string
	span   trace.Span
	// headers of a gRPC request, which are only read; nil in REST.
	headers grpcHeaders
	// arriving ends a gRPC request whose message does not come; nil in REST.
	arriving *arrival
}

// leaveMemory goes before everything that may wait for Redis, a provider or another
// request.
func (c *call) leaveMemory() {
	if c.waits != nil {
		c.waits()
	}
}

type callKey struct{}

// begin makes a call and the context that carries it.
func begin(ctx context.Context) (context.Context, *call) {
	began := &call{Context: ctx, id: newID(), began: time.Now(), source: sourceNone, span: trace.SpanFromContext(ctx)}
	return began, began
}

// newID makes the id of a request: twice 64 random bits in base 32. It is no
// secret, so that the system need not be asked for each.
func newID() string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var id [26]byte
	high, low := rand.Uint64(), rand.Uint64()
	for i := range len(id) / 2 {
		id[i], id[i+len(id)/2] = digits[high%32], digits[low%32]
		high, low = high/32, low/32
	}
	return string(id[:])
}

// Value gives the call itself, its id, and what the context below has.
func (c *call) Value(key any) any {
	switch key.(type) {
	case callKey:
		return c
	case enrich.RequestIDKey:
		return c.id
	}
	return c.Context.Value(key)
}

// callOf is the call that a context belongs to. Every context that the edge
// hands on has one.
func callOf(ctx context.Context) *call { return ctx.Value(callKey{}).(*call) }

// Where an answer comes from, as the observer is told, beside the tiers' names.
const (
	sourceNone   = "none"
	sourceRepeat = "repeat" // it was kept under its idempotency key
	sourceVendor = "vendor"
)

// sources are all of them, the slowest last.
var sources = []string{sourceNone, sourceRepeat, string(enrich.MemoryTier), string(enrich.RedisTier), sourceVendor}

func slower(a, b string) string {
	return sources[max(slices.Index(sources, a), slices.Index(sources, b))]
}

// sourceOf is the slowest place that was asked for an answer.
func sourceOf(answer *enrich.Answer) string {
	if len(answer.Attempts) > 0 {
		return sourceVendor
	}
	source := sourceNone
	for _, found := range answer.Found {
		if found.Tier == enrich.RedisTier {
			return string(enrich.RedisTier)
		}
		source = string(found.Tier)
	}
	return source
}

// panicked turns a panic into an error. What was panicked with may hold what
// the caller sent, so only the stack is logged.
func (s *Server) panicked(ctx context.Context) error {
	s.log.ErrorContext(ctx, "panic", "request_id", enrich.RequestID(ctx), "stack", string(debug.Stack()))
	return s.statusOf(ctx, errors.New("panic"))
}
