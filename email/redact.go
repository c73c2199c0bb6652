package email

import (
	"fmt"
	"log/slog"
)

// redacted makes a type that embeds it print a fixed text wherever the standard
// library would print the value: fmt with any verb, JSON, text encodings, slog.
//
// Types that embed it keep their text behind a pointer. That covers the two
// places where fmt calls no method, an unexported field of another struct and
// the verb %p: there fmt prints the pointer's number.
type redacted struct{}

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
