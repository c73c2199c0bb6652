package cache

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// barriers are the times until which what providers said does not count. The
// zero barriers let everything pass.
type barriers struct {
	until atomic.Pointer[map[string]time.Time]
}

// passes tells whether a fact counts.
func (b *barriers) passes(fact enrich.Fact) bool {
	until := b.until.Load()
	return until == nil || fact.FetchedAt.After((*until)[fact.Source])
}

// apply returns what the barriers leave of an entry, nil for nothing.
func (b *barriers) apply(e *entry) *entry {
	if b.until.Load() == nil {
		return e
	}
	return e.keep(b.passes)
}

// raise bars what a provider said until the given time.
func (b *barriers) raise(provider string, until time.Time) {
	b.merge(map[string]time.Time{provider: until})
}

// merge raises every barrier that is lower than the given.
func (b *barriers) merge(until map[string]time.Time) {
	for {
		last := b.until.Load()
		raised := map[string]time.Time{}
		if last != nil {
			for provider, at := range *last {
				raised[provider] = at
			}
		}
		for provider, at := range until {
			raised[provider] = later(raised[provider], at)
		}
		if b.until.CompareAndSwap(last, &raised) {
			return
		}
	}
}

// bar raises a provider's barrier for all replicas.
func (r *remote) bar(ctx context.Context, provider string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	err := barScript.Run(ctx, r.writes, []string{r.keys.barriers()}, provider, r.keys.channel()).Err()
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
	if err != nil {
		r.failed(err)
		return
	}
	until := map[string]time.Time{}
	for provider, text := range stored {
		if at, err := strconv.ParseInt(text, 10, 64); err == nil {
			until[provider] = r.clock.ours(at)
		}
	}
	if len(until) > 0 {
		r.barriers.merge(until)
	}
}
