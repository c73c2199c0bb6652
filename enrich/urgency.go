package enrich

import (
	"context"
	"slices"
	"sync"
)

// Lanes are all lanes, the most urgent first.
var Lanes = []Lane{Interactive, Standard, Bulk}

// moreUrgent tells whether the lane is served before another.
func (l Lane) moreUrgent(than Lane) bool { return slices.Index(Lanes, l) < slices.Index(Lanes, than) }

// Urgency is the lane of a look-up that several callers wait for: that of the
// most urgent of them. It can only rise. Safe for concurrent use.
type Urgency struct {
	mu    sync.Mutex
	lane  Lane
	risen context.Context // ends when lane rises; nil: nobody asked to be told
	rise  context.CancelFunc
}

// NewUrgency begins in a lane.
func NewUrgency(lane Lane) *Urgency { return &Urgency{lane: lane} }

// Lane is the lane now.
func (u *Urgency) Lane() Lane {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lane
}

// Above tells whether the lane is more urgent than the one that the caller knows.
func (u *Urgency) Above(known Lane) bool { return u.Lane().moreUrgent(known) }

// Join counts a caller of a lane in.
func (u *Urgency) Join(lane Lane) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !lane.moreUrgent(u.lane) {
		return
	}
	u.lane = lane
	if u.rise != nil {
		u.rise()
		u.risen, u.rise = nil, nil
	}
}

// Risen returns a context that ends when the lane rises, and has ended if it is
// more urgent than the one that the caller knows; nil: it cannot rise.
func (u *Urgency) Risen(known Lane) context.Context {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case u.lane.moreUrgent(known):
		return ended
	case u.lane == Interactive:
		return nil
	case u.risen == nil:
		u.risen, u.rise = context.WithCancel(context.Background())
	}
	return u.risen
}

// ended is a context that has ended.
var ended = func() context.Context {
	ctx, end := context.WithCancel(context.Background())
	end()
	return ctx
}()
