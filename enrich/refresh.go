package enrich

import (
	"context"
	"sync"
	"time"
)

const (
	// mostRefreshes is how many refreshes may be under way at once. One more is
	// not begun: the value will be asked for again.
	mostRefreshes = 256
	// mostPauses is how many subjects can be left alone after failures, and
	// mostAsked how many are known to have been asked about lately.
	mostPauses = 10_000
	mostAsked  = 10_000
	// longestPause bounds how long a subject is left alone because providers
	// said when to come back.
	longestPause = time.Hour
)

// refreshes are the subjects that are refreshed in the background. Maps are by
// the subjects' keys.
type refreshes struct {
	mu    sync.Mutex
	under map[string]struct{}
	// pauses says until when not to refresh again.
	pauses lately[time.Time]
	// asked has who was asked about while its values were soon to be stale.
	asked lately[struct{}]
}

// begin tells whether the subject's refresh may begin now.
func (r *refreshes) begin(key string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause, _ := r.pauses.get(key)
	if _, under := r.under[key]; under || len(r.under) == mostRefreshes || now.Before(pause) {
		return false
	}
	if r.under == nil {
		r.under = map[string]struct{}{}
	}
	r.under[key] = struct{}{}
	return true
}

// end notes the end of a refresh and until when no other may begin; zero: it may
// at once.
func (r *refreshes) end(key string, pause time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.under, key)
	if !pause.IsZero() {
		r.pauses.put(key, pause, mostPauses)
	}
}

// again tells whether the subject was asked about before, not too many others
// ago.
func (r *refreshes) again(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, again := r.asked.get(key)
	r.asked.put(key, struct{}{}, mostAsked)
	return again
}

// lately is a map that forgets what was put long ago. The zero lately is empty.
type lately[V any] struct{ young, old map[string]V }

func (l *lately[V]) get(key string) (V, bool) {
	if value, ok := l.young[key]; ok {
		return value, true
	}
	value, ok := l.old[key]
	return value, ok
}

// put keeps a value for at least half of most further ones, of which no more are
// kept.
func (l *lately[V]) put(key string, value V, most int) {
	if l.young == nil || len(l.young) >= most/2 {
		l.young, l.old = map[string]V{}, l.young
	}
	l.young[key] = value
}

// mayBeStale tells whether the caller accepts a stale value. Who names an age or
// wants a refresh does not.
func (q *question) mayBeStale() bool { return q.maxAge == 0 && q.cache == CacheDefault }

// soon is the share of their life within which values are looked at as if they
// had gone stale, to be refreshed ahead.
func (q *question) soon() float64 {
	if !q.mayBeStale() {
		return 0
	}
	return max(q.config.RefreshAhead, 0)
}

// refreshAhead asks again for values that are fresh but not for long, if they
// are in demand.
func (s *Service) refreshAhead(q *question, part part, needs []Need, soon float64) {
	if len(needs) > 0 && s.refreshes.again(part.key.Reveal()) {
		s.refresh(q, part, needs, soon)
	}
}

// refresh asks again in the background and in the bulk lane, so that no caller
// waits longer because of it.
func (s *Service) refresh(q *question, part part, needs []Need, soon float64) {
	key := part.key.Reveal()
	if !s.refreshes.begin(key, q.now) {
		return
	}
	background := *q
	background.lane, background.purse, background.landed = Bulk, nil, nil
	began := s.flights.background(func() {
		var pause time.Time
		defer func() { s.refreshes.end(key, pause) }()
		ctx, cancel := context.WithTimeout(context.Background(), q.config.RetryBudget)
		defer cancel()
		// Whoever began the flight gets the same facts.
		found, _, err := s.flights.join(ctx, key, Bulk, func(ctx context.Context, flying *flight) Found {
			return s.find(ctx, &background, &part, needs, soon, flying)
		})
		if err != nil || found.Err != nil {
			pause = q.config.pauseAfter(found.Err)
		}
	})
	if !began {
		s.refreshes.end(key, time.Time{})
	}
}

// pauseAfter is until when to leave a subject alone whose refresh failed.
func (c *Config) pauseAfter(err *Error) time.Time {
	now := time.Now()
	pause := now.Add(c.RefreshPause)
	if err != nil && err.ReadyAt.After(pause) {
		pause = err.ReadyAt
		if longest := now.Add(longestPause); pause.After(longest) {
			pause = longest
		}
	}
	return pause
}
