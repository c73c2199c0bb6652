package email

import (
	"fmt"
	"log/slog"
)

// redacted makes a type that embeds it print a fixed text wherever the standard
// library would print the value: fmt with any verb, JSON, text encodings, slog.
type redacted struct{}

// sealed keeps facts where fmt cannot get at them. In an unexported field of
// another struct, and for the verb %p, fmt calls no method and prints what it
// finds by reflection; with a verb that does not fit it even follows one
// pointer. It never follows two.
type sealed **facts

// seal costs one allocation.
func seal(f facts) sealed {
	box := &struct {
		to    *facts
		facts facts
	}{facts: f}
	box.to = &box.facts
	return &box.to
}

const redactedText = "[address]"

// String returns a fixed text. Reveal returns the real one.
func (redacted) String() string { return redactedText }

// GoString returns a fixed text.
func (redacted) GoString() string { return redactedText }

// Format prints a fixed text for every verb.
func (redacted) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redactedText)) }

// MarshalJSON encodes a fixed text.
func (redacted) MarshalJSON() ([]byte, error) { return []byte(`"` + redactedText + `"`), nil }

// MarshalText encodes a fixed text.
func (redacted) MarshalText() ([]byte, error) { return []byte(redactedText), nil }

// LogValue logs a fixed text.
func (redacted) LogValue() slog.Value { return slog.StringValue(redactedText) }
