package enrich

import (
	"context"
	"sync"
	"time"
)

// mostRefreshes is how many refreshes may be under way at once. One more is
// not begun: the stale value will be asked for again.
const mostRefreshes = 256

// refreshes counts the refreshes under way in the background.
type refreshes struct {
	mu     sync.Mutex
	count  int
	closed bool
}

func (r *refreshes) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.count == mostRefreshes {
		return false
	}
	r.count++
	return true
}

func (r *refreshes) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count--
}

func (r *refreshes) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}

// staleAnswers tells whether every need has a value that is no longer fresh but
// may still answer while it is asked for again. A caller who names an age or
// wants a refresh gets no stale value.
func (s *Service) staleAnswers(question question, needs []Need, known Record) bool {
	if question.maxAge > 0 || question.cache == CacheRefresh {
		return false
	}
	for _, need := range needs {
		if _, ok := known.Best(need.Attribute, s.Config.Freshness.usable(question.now)); !ok {
			return false
		}
	}
	return true
}

// refreshInBackground asks again in the bulk lane, so that no caller waits
// longer because of it.
func (s *Service) refreshInBackground(question question, part part, needs []Need) {
	if !s.refreshes.begin() {
		return
	}
	question.lane, question.purse = Bulk, nil
	s.flights.landing.Go(func() {
		defer s.refreshes.end()
		ctx, cancel := context.WithTimeout(context.Background(), s.Config.RetryBudget)
		defer cancel()
		// Whoever began the flight gets the same facts; a failure leaves the
		// stale value, and the next request tries again.
		_, _, _ = s.flights.join(ctx, part.subject.Key().Reveal(), func(ctx context.Context) Found {
			return s.find(ctx, question, part, needs)
		})
	})
}

// usable accepts the values that may answer at the given time, stale ones
// included.
func (f Freshness) usable(now time.Time) func(Fact) bool {
	return func(fact Fact) bool {
		return fact.State == StateValue && now.Before(f.keepUntil(fact))
	}
}
