package main

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/enrichd/enrichd/enrich"
)

// refusedRun ends a run for what every lead would meet: nothing was answered, and
// nothing is to be kept of it.
type refusedRun string

func (r refusedRun) Error() string { return string(r) }

// refusesAll tells whether an error of the service is about the caller, the
// question or the connection, and not about one lead.
func refusesAll(err error) bool {
	switch status.Code(err) {
	case codes.Unauthenticated, codes.Unimplemented:
		return true
	case codes.InvalidArgument:
		return !unreadable(err)
	case codes.PermissionDenied:
		class := classOf(err)
		return class != "" && class != enrich.ReasonSuppressed
	case codes.Unavailable:
		return infoOf(err) == nil // nobody was reached
	default:
		return false
	}
}
