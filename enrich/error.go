package enrich

import (
	"errors"
	"time"
)

// ErrorKind says what the caller can do about an error.
type ErrorKind string

// The kinds of error.
const (
	Invalid         ErrorKind = "invalid"         // fix the request
	Unauthenticated ErrorKind = "unauthenticated" // use another key
	Denied          ErrorKind = "denied"          // ask for rights
	Throttled       ErrorKind = "throttled"       // wait until ReadyAt
	Unavailable     ErrorKind = "unavailable"     // wait: providers are failing
	Rejected        ErrorKind = "rejected"        // nothing: the operator must act
	OutOfTime       ErrorKind = "out_of_time"     // ask again with more time
	OutOfMoney      ErrorKind = "out_of_money"    // ask again with more money
	Internal        ErrorKind = "internal"        // nothing
)

// ErrorKinds lists all kinds.
var ErrorKinds = []ErrorKind{Invalid, Unauthenticated, Denied, Throttled, Unavailable, Rejected, OutOfTime, OutOfMoney, Internal}

// Error is the one error of the product's parts. Its text is safe to send: it
// never holds what the caller or a vendor sent.
type Error struct {
	Kind ErrorKind
	// Message is a sentence for the caller.
	Message string
	// Field is the request's field at fault, Reason a stable word for what is
	// wrong with it, Offset the byte at fault or -1. For Invalid and Denied only.
	Field  string
	Reason string
	Offset int
	// ReadyAt is the earliest time at which asking again can help; zero when
	// unknown. For Throttled and Unavailable.
	ReadyAt time.Time
	// Cause is for the log, never for the caller.
	Cause error
}

// Error returns kind and message.
func (e *Error) Error() string { return string(e.Kind) + ": " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// AsError returns err as an Error; one of another type becomes Internal. It
// returns nil for nil.
func AsError(err error) *Error {
	var typed *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &typed):
		return typed
	default:
		return &Error{Kind: Internal, Message: "something went wrong inside the service", Offset: -1, Cause: err}
	}
}
