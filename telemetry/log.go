package telemetry

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel/trace"

	"github.com/enrichd/enrichd/enrich"
)

// The formats of log lines.
const (
	formatJSON = "json"
	formatText = "text"
)

// NewLogger returns a logger of lines of at least a level, in the configured
// format. They carry trace_id, span_id and request_id of the context they are
// logged with. Lines that cannot be written are lost and counted; the first
// line after them says how many.
func NewLogger(w io.Writer, level slog.Leveler, config Config) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if config.LogFormat == formatText {
		return slog.New(&handler{Handler: slog.NewTextHandler(w, options), written: &lines{}})
	}
	return slog.New(&handler{Handler: slog.NewJSONHandler(w, options), written: &lines{}})
}

// lines counts what was logged; handlers made from one another share it.
type lines struct {
	warnings, errors atomic.Uint64
	lost             atomic.Uint64 // since the start
	unsaid           atomic.Uint64 // of these, not yet told of
}

// linesOf returns the counts of a logger that NewLogger made.
func linesOf(log *slog.Logger) *lines {
	if own, ok := log.Handler().(*handler); ok {
		return own.written
	}
	return &lines{}
}

// handler adds to each line what its context knows.
type handler struct {
	slog.Handler
	written *lines
}

// Handle writes one line.
func (h *handler) Handle(ctx context.Context, record slog.Record) error {
	switch {
	case record.Level >= slog.LevelError:
		h.written.errors.Add(1)
	case record.Level >= slog.LevelWarn:
		h.written.warnings.Add(1)
	}
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if id := enrich.RequestID(ctx); id != "" && !has(record, "request_id") {
		record.AddAttrs(slog.String("request_id", id))
	}
	if err := h.Handler.Handle(ctx, record); err != nil {
		h.written.lost.Add(1)
		h.written.unsaid.Add(1)
		return err
	}
	if lost := h.written.unsaid.Swap(0); lost > 0 {
		said := slog.NewRecord(record.Time, slog.LevelWarn, "log lines before this one were lost", 0)
		said.AddAttrs(slog.Uint64("lost", lost))
		if h.Handler.Handle(ctx, said) != nil {
			h.written.unsaid.Add(lost)
		}
	}
	return nil
}

func has(record slog.Record, key string) (found bool) {
	record.Attrs(func(a slog.Attr) bool {
		found = a.Key == key
		return !found
	})
	return found
}

// WithAttrs returns a handler whose lines have further attributes.
func (h *handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	return &handler{Handler: h.Handler.WithAttrs(attributes), written: h.written}
}

// WithGroup returns a handler whose further attributes are in a group.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{Handler: h.Handler.WithGroup(name), written: h.written}
}
