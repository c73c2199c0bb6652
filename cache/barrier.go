package cache

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// barriers are the times until which what providers said does not count. The
// zero barriers let everything pass.
type barriers struct {
	until atomic.Pointer[map[string]barrier]
}

type barrier struct {
	at time.Time
	// redis is the same on Redis's clock, in microseconds; 0: not known yet.
	redis int64
}

// passes tells whether a fact counts.
func (b *barriers) passes(fact enrich.Fact) bool {
	until := b.until.Load()
	return until == nil || fact.FetchedAt.After((*until)[fact.Source].at)
}

// apply returns what the barriers leave of an entry, nil for nothing.
func (b *barriers) apply(e *entry) *entry {
	if b.until.Load() == nil {
		return e
	}
	return e.keep(b.passes)
}

// raise bars what a provider said until the given time. A barrier is never
// lowered, and one that is known is not raised again.
func (b *barriers) raise(provider string, to barrier) {
	for {
		last := b.until.Load()
		raised := map[string]barrier{}
		if last != nil {
			raised = maps.Clone(*last)
		}
		known := raised[provider]
		if to.redis != 0 && to.redis <= known.redis {
			return
		}
		raised[provider] = barrier{at: later(known.at, to.at), redis: max(known.redis, to.redis)}
		if b.until.CompareAndSwap(last, &raised) {
			return
		}
	}
}

// bar raises a provider's barrier for all replicas.
func (r *remote) bar(ctx context.Context, provider string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	err := barScript.Run(ctx, r.writes, []string{r.keys.barriers()}, provider, r.keys.channel).Err()
	if err != nil {
		r.failed(err)
		return fmt.Errorf("cache: other replicas may still use what the provider said: %w", err)
	}
	return nil
}

// loadBarriers reads the barriers of all replicas.
func (r *remote) loadBarriers(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, r.store)
	defer cancel()
	stored, err := r.reads.HGetAll(ctx, r.keys.barriers()).Result()
	if err != nil || len(stored) == 0 {
		r.failed(err)
		return
	}
	now, err := r.reads.Time(ctx).Result()
	if err != nil {
		r.failed(err)
		return
	}
	r.clock.set(now.UnixMicro())
	for provider, text := range stored {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			r.barriers.raise(provider, barrier{at: r.clock.ours(at), redis: at})
		}
	}
}
