package router

import (
	"context"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// Quota says when a provider may be called.
type Quota interface {
	// Acquire waits until the call may begin, not beyond ctx's deadline. The
	// error is a [*quota.Refusal], which comes at once when the wait cannot fit.
	Acquire(ctx context.Context, ask quota.Ask) (*quota.Permit, error)
	// Forecast tells without waiting when the call could begin, and why not now;
	// the reason is empty when it could.
	Forecast(ask quota.Ask) quota.Refusal
	// Pause closes a provider until then; zero: until somebody resumes it.
	Pause(provider string, until time.Time, reason enrich.PauseReason)
	// Resume ends a pause; if reasons are named, only one for any of them.
	Resume(provider string, reasons ...enrich.PauseReason)
}

var _ Quota = (*quota.Keeper)(nil)

// refused is why a vendor was not called.
func refused(reason string, readyAt time.Time) *quota.Refusal {
	return &quota.Refusal{Reason: reason, ReadyAt: readyAt}
}
