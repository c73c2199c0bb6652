package router

import (
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Observer is told what the router does, for metrics and spans. Its methods are
// called from many goroutines and must not block. Embed [Unobserved] to see
// only a part.
type Observer interface {
	// Dropped: a provider that could know was not asked, and why.
	Dropped(provider, operation, reason string)
	// Called: one exchange with a vendor has ended.
	Called(Exchange)
	// Retried: a call is repeated because of this reason.
	Retried(provider, reason string)
	// Paused: a provider is closed until then, or until it is resumed if zero.
	Paused(provider string, until time.Time, reason enrich.PauseReason)
	// BreakerChanged: the provider's breaker is in another state.
	BreakerChanged(provider string, state BreakerState)
	// Drifted: a mapped field of the vendor's answer vanished or changed its
	// type.
	Drifted(provider string, a enrich.Attribute)
}

// Exchange is one exchange with a vendor as observers see it.
type Exchange struct {
	enrich.Attempt
	Operation string
	Account   string
	Lane      enrich.Lane
}

// Unobserved is an Observer that looks away.
type Unobserved struct{}

var _ Observer = Unobserved{}

// Dropped does nothing.
func (Unobserved) Dropped(provider, operation, reason string) {}

// Called does nothing.
func (Unobserved) Called(Exchange) {}

// Retried does nothing.
func (Unobserved) Retried(provider, reason string) {}

// Paused does nothing.
func (Unobserved) Paused(provider string, until time.Time, reason enrich.PauseReason) {}

// BreakerChanged does nothing.
func (Unobserved) BreakerChanged(provider string, state BreakerState) {}

// Drifted does nothing.
func (Unobserved) Drifted(provider string, a enrich.Attribute) {}
