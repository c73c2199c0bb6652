// Package sinks delivers what was found: a sink takes one message at a time and
// says whether it has it, whether to try again, or why it never will.
package sinks

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Message is one delivery.
type Message struct {
	// ID is the same for every attempt; it has no dots.
	ID string
	// RecordKey names the subject: a keyed hash.
	RecordKey string
	// OperationKey is the same for the same content about a subject on one day:
	// a receiver that has seen it has the message.
	OperationKey string
	// Version orders messages about a subject.
	Version int64
	// Body is JSON.
	Body []byte
	// Replayed is true when a person had it delivered again: a receiver that said
	// it is gone is asked once more.
	Replayed bool
}

// Sink takes messages. It is safe for concurrent use.
type Sink interface {
	// Name of the sink in the configuration.
	Name() string
	// Deliver hands one message over. A nil error says that the receiver has it
	// for good; every other one is an *Error.
	Deliver(ctx context.Context, message Message) error
	// Close ends the sink once no Deliver runs.
	Close() error
}

// Class is what a failed delivery means.
type Class string

// The classes of failure.
const (
	Later   Class = "later"   // try again, not before ReadyAt
	Refused Class = "refused" // this message is never taken
	Gone    Class = "gone"    // the receiver takes nothing any more
)

// Error is a failed delivery. Its text holds nothing of the message or of what
// the receiver said.
type Error struct {
	Class Class
	// Reason is a stable word: "status_503", "timeout", "breaker_open".
	Reason string
	// ReadyAt is when trying again can help; zero when unknown.
	ReadyAt time.Time
	// Attempted is false when the receiver was not asked at all.
	Attempted bool
	// Cause is for the log.
	Cause error
}

// Error returns class and reason.
func (e *Error) Error() string { return fmt.Sprintf("sinks: %s: %s", e.Class, e.Reason) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as an Error; one of another type is to be tried again.
func AsError(err error) *Error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return known
	}
	return &Error{Class: Later, Reason: "failed", Attempted: true, Cause: err}
}
