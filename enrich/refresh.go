package enrich

import (
	"context"
	"sync"
	"time"
)

// mostRefreshes is how many refreshes may be under way at once. One more is
// not begun: the stale value will be asked for again.
const mostRefreshes = 256

// refreshes are the subjects that are being refreshed in the background.
type refreshes struct {
	mu    sync.Mutex
	under map[string]struct{}
}

// begin tells whether the subject's refresh may begin now.
func (r *refreshes) begin(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, under := r.under[key]; under || len(r.under) == mostRefreshes {
		return false
	}
	if r.under == nil {
		r.under = map[string]struct{}{}
	}
	r.under[key] = struct{}{}
	return true
}

func (r *refreshes) end(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, key)
}

// staleAnswers tells whether every need has a value that is no longer fresh but
// may still answer while it is asked for again. A caller who names an age or
// wants a refresh gets no stale value.
func (q *question) staleAnswers(needs []Need, known Record) bool {
	if q.maxAge > 0 || q.cache == CacheRefresh {
		return false
	}
	for _, need := range needs {
		if _, ok := known.Best(need.Attribute, q.config.Freshness.usable(q.now)); !ok {
			return false
		}
	}
	return true
}

// refreshInBackground asks again in the bulk lane, so that no caller waits
// longer because of it.
func (s *Service) refreshInBackground(q *question, part part, needs []Need) {
	key := part.key.Reveal()
	if !s.refreshes.begin(key) {
		return
	}
	background := *q
	background.lane, background.purse = Bulk, nil
	began := s.flights.background(func() {
		defer s.refreshes.end(key)
		ctx, cancel := context.WithTimeout(context.Background(), q.config.RetryBudget)
		defer cancel()
		// Whoever began the flight gets the same facts; a failure leaves the
		// stale value, and the next request tries again.
		_, _, _ = s.flights.join(ctx, key, Bulk, func(ctx context.Context, flying *flight) Found {
			return s.find(ctx, &background, part, needs, flying)
		})
	})
	if !began {
		s.refreshes.end(key)
	}
}

// usable accepts the values that may answer at the given time, stale ones
// included.
func (f Freshness) usable(now time.Time) func(Fact) bool {
	return func(fact Fact) bool {
		return fact.State == StateValue && now.Before(f.keepUntil(fact))
	}
}
