package cache

import (
	"context"

	"github.com/enrichd/enrichd/enrich"
)

// tier keeps entries and may forget them. Tiers are safe for concurrent use;
// every implementation passes the one conformance suite.
type tier interface {
	// name is the tier's name in answers and metrics.
	name() enrich.Tier
	// recall returns what is kept about a subject, nil for nothing. It waits
	// for no longer than the tier promises.
	recall(ctx context.Context, t tag) *entry
	// remember joins the entry with what is kept and returns what is kept now:
	// no fact of either is lost. Facts of calls that began before an erasure
	// are dropped, and nil is returned if nothing is left. A tier that cannot
	// keep the entry returns it as it is.
	remember(ctx context.Context, e *entry) *entry
	// forget erases a subject. What was loaded before is refused from then on.
	// The error says that the tier could not be reached.
	forget(ctx context.Context, t tag) error
	// close ends the tier, which from then on recalls nothing. It may be called
	// again.
	close() error
}

// none is the tier that keeps nothing.
type none struct{}

var _ tier = none{}

func (none) name() enrich.Tier                           { return enrich.NoTier }
func (none) recall(context.Context, tag) *entry          { return nil }
func (none) remember(_ context.Context, e *entry) *entry { return e }
func (none) forget(context.Context, tag) error           { return nil }
func (none) close() error                                { return nil }
