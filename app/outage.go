package app

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// outageOver is how long an error must not have come for its next one to be of
// another outage.
const outageOver = time.Minute

// oncePerOutage is a handler of logs that tells of an error once while it keeps
// coming: the queue's engine, which looks for work several times a second, and
// everybody who asks meanwhile meet the same one. Records without an error are all
// handled.
type oncePerOutage struct {
	slog.Handler
	told *told // shared by the handlers made of this one
}

// told are the errors that came lately.
type told struct {
	mu   sync.Mutex // guards the rest
	last map[string]time.Time
}

// tellOnce returns a logger that writes to log what oncePerOutage lets pass.
func tellOnce(log *slog.Logger) *slog.Logger {
	return slog.New(oncePerOutage{Handler: log.Handler(), told: &told{last: map[string]time.Time{}}})
}

// Handle handles a record, unless it tells of an outage that was told of.
func (o oncePerOutage) Handle(ctx context.Context, record slog.Record) error {
	if what := failureOf(record); what != "" && o.told.again(what, record.Time) {
		return nil
	}
	return o.Handler.Handle(ctx, record)
}

// WithAttrs returns a handler with further attributes.
func (o oncePerOutage) WithAttrs(attrs []slog.Attr) slog.Handler {
	return oncePerOutage{Handler: o.Handler.WithAttrs(attrs), told: o.told}
}

// WithGroup returns a handler with a further group.
func (o oncePerOutage) WithGroup(name string) slog.Handler {
	return oncePerOutage{Handler: o.Handler.WithGroup(name), told: o.told}
}

// failureOf is what a record says failed, and why; "": nothing.
func failureOf(record slog.Record) (what string) {
	if record.Level < slog.LevelWarn {
		return ""
	}
	record.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "error" || attr.Key == "err" { // as the engine calls it
			what = record.Message + "\x00" + attr.Value.String()
		}
		return what == ""
	})
	return what
}

// again notes an error and tells whether it has come lately.
func (t *told) again(what string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	last, known := t.last[what]
	known = known && now.Sub(last) < outageOver
	if !known {
		for other, last := range t.last {
			if now.Sub(last) >= outageOver {
				delete(t.last, other)
			}
		}
	}
	t.last[what] = now
	return known
}
