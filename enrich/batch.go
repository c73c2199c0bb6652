package enrich

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/enrichd/enrichd/email"
)

// EnrichAll answers many requests at once. Each is called with the place of a
// request and its answer or [Error], once for every request, in the order in
// which the answers come and from the caller's goroutine. A bad request harms no
// other.
//
// The caches are asked about all subjects together, and what providers said for
// one request serves the others of the batch as well. The time budget of every
// request begins now.
func (s *Service) EnrichAll(ctx context.Context, requests []Request, each func(i int, answer Answer, err error)) {
	ctx, span := tracer.Start(ctx, "enrich.all")
	defer span.End()
	span.SetAttributes(attribute.Int("requests", len(requests)))

	batch, now := &landed{}, time.Now()
	var questions []*question
	var places []int
	for i, request := range requests {
		q, err := s.understand(ctx, request, now)
		if err != nil {
			s.auditRefusal(request, err)
			each(i, Answer{}, err)
			continue
		}
		q.landed = batch
		questions, places = append(questions, q), append(places, i)
	}
	s.recall(ctx, questions...)

	var waiting []int
	for at, q := range questions {
		if q.lacking() {
			waiting = append(waiting, at)
			continue
		}
		answer, err := s.conclude(span, q)
		each(places[at], answer, err)
	}
	for answered := range s.seekAll(ctx, questions, waiting) {
		each(places[answered.at], answered.answer, answered.err)
	}
}

// answered is the answer to one request of a batch.
type answered struct {
	at     int
	answer Answer
	err    error
}

// seekAll has providers asked for what the waiting questions lack, so many at
// once as the configuration says. The channel has room for all answers and is
// closed after the last.
func (s *Service) seekAll(ctx context.Context, questions []*question, waiting []int) <-chan answered {
	answers := make(chan answered, len(waiting))
	budgets, end := budgetsOf(ctx, questions, waiting)
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(s.config().BatchWidth, len(waiting)) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < len(waiting); i = int(next.Add(1)) - 1 {
				q := questions[waiting[i]]
				answer, err := s.seekOne(budgets[q.deadline], q)
				answers <- answered{waiting[i], answer, err}
			}
		})
	}
	go func() {
		workers.Wait()
		end()
		close(answers)
	}()
	return answers
}

// budgetsOf returns the contexts that end with the time budgets of the waiting
// questions, by their ends: most have the same, and share a timer.
func budgetsOf(ctx context.Context, questions []*question, waiting []int) (budgets map[time.Time]context.Context, end func()) {
	budgets = map[time.Time]context.Context{}
	var cancels []context.CancelFunc
	for _, at := range waiting {
		if deadline := questions[at].deadline; budgets[deadline] == nil {
			budget, cancel := context.WithDeadline(ctx, deadline)
			budgets[deadline], cancels = budget, append(cancels, cancel)
		}
	}
	return budgets, func() {
		for _, cancel := range cancels {
			cancel()
		}
	}
}

// seekOne answers one question of a batch. A panic fails this one alone.
func (s *Service) seekOne(ctx context.Context, q *question) (answer Answer, err error) {
	ctx, span := tracer.Start(ctx, "enrich")
	defer span.End()
	defer func() {
		if recover() != nil {
			err = failed(span, panicError())
		}
	}()
	s.seekBoth(ctx, q)
	return s.conclude(span, q)
}

// landed is what the flights brought that requests of one batch began, by
// subject. A later request of the batch takes it, failures included, as if it had
// waited for them too. A nil landed holds none.
type landed struct {
	mu    sync.Mutex
	found map[string]Found
}

// about tells what flights brought about a subject, if any was begun.
func (l *landed) about(key email.Key) (found Found, ok bool) {
	if l == nil {
		return Found{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	found, ok = l.found[key.Reveal()]
	return found, ok
}

// add joins what one more flight brought.
func (l *landed) add(key email.Key, found Found) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.found == nil {
		l.found = map[string]Found{}
	}
	l.found[key.Reveal()] = l.found[key.Reveal()].then(found)
}

// then joins what a later flight brought, whose failures replace earlier ones.
func (f Found) then(later Found) Found {
	failed := map[Attribute]string{}
	for attribute, reason := range f.Failed {
		if len(later.Record.About(attribute)) == 0 {
			failed[attribute] = reason
		}
	}
	maps.Copy(failed, later.Failed)
	joined := Found{
		Record:   f.Record.Join(later.Record),
		Recalled: f.Recalled.Join(later.Recalled),
		Attempts: slices.Concat(f.Attempts, later.Attempts),
		Failed:   failed,
		Err:      later.Err,
	}
	if joined.Err == nil {
		joined.Err = f.Err
	}
	return joined
}
