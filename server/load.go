package server

import (
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// overloadDelay is when a caller who was refused because of too many requests
// is told to come back.
const overloadDelay = time.Second

// load counts the requests under way, per path, and bounds their sum.
type load struct {
	most       int64
	grpc, rest atomic.Int64
}

// enter counts one more request on a path, or refuses it. What was let in must
// leave by path.Add(-1).
func (l *load) enter(path *atomic.Int64) error {
	path.Add(1)
	if l.grpc.Load()+l.rest.Load() <= l.most {
		return nil
	}
	path.Add(-1)
	return overloaded()
}

func overloaded() error {
	return &enrich.Error{
		Kind: enrich.Unavailable, Reason: "overloaded", Offset: -1, ReadyAt: time.Now().Add(overloadDelay),
		Message: "too many requests are under way here",
	}
}
