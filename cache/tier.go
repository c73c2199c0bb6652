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
	// check returns an entry that another tier recalled: itself, if this tier
	// has nothing that it lacks for all that has been heard, else joined as by
	// remember. It waits for no longer than recall.
	check(ctx context.Context, e *entry) *entry
	// forget erases a subject. What was loaded before is refused from then on.
	// The error says that the tier could not be reached.
	forget(ctx context.Context, t tag) error
	// close ends the tier, which from then on recalls nothing. It may be called
	// again.
	close() error
}

// nearTier is the tier that is asked first.
type nearTier interface {
	tier
	// peek recalls what was just asked for once more, which does not make it asked
	// for more often.
	peek(t tag) *entry
}

// follower is told what became of entries in Redis.
type follower interface {
	// written tells that Redis took a version of a subject's entry.
	written(t tag, version uint64)
	// erased tells that a subject was erased.
	erased(t tag, x erasure)
}

// none is the tier that keeps nothing.
type none struct{}

var (
	_ nearTier = none{}
	_ follower = none{}
)

func (none) name() enrich.Tier                           { return enrich.NoTier }
func (none) recall(context.Context, tag) *entry          { return nil }
func (none) peek(tag) *entry                             { return nil }
func (none) remember(_ context.Context, e *entry) *entry { return e }
func (none) check(_ context.Context, e *entry) *entry    { return e }
func (none) forget(context.Context, tag) error           { return nil }
func (none) close() error                                { return nil }
func (none) written(tag, uint64)                         {}
func (none) erased(tag, erasure)                         {}
