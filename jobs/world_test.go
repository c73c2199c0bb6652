package jobs_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/jobs"
	"github.com/enrichd/enrichd/ledger"
	"github.com/enrichd/enrichd/sinks"
)

const (
	ada   = "ada@lovelace.example"
	grace = "grace@hopper.example"
)

var acme = enrich.Account{Name: "acme"}

// script plays the service: each address has answers for its calls in order, the
// last one for ever.
type script struct {
	mu    sync.Mutex
	plays map[string][]func(enrich.Request) (enrich.Answer, error)
	calls map[string]int
}

func newScript() *script {
	return &script{plays: map[string][]func(enrich.Request) (enrich.Answer, error){}, calls: map[string]int{}}
}

func (s *script) on(address string, plays ...func(enrich.Request) (enrich.Answer, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plays[address] = plays
}

func (s *script) called(address string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[address]
}

// Enrich plays the next answer.
func (s *script) Enrich(_ context.Context, request enrich.Request) (enrich.Answer, error) {
	s.mu.Lock()
	plays := s.plays[request.Email]
	n := s.calls[request.Email]
	s.calls[request.Email]++
	s.mu.Unlock()
	if len(plays) == 0 {
		return finds("Engineer")(request)
	}
	return plays[min(n, len(plays)-1)](request)
}

func finds(title string) func(enrich.Request) (enrich.Answer, error) {
	return func(request enrich.Request) (enrich.Answer, error) {
		address, err := email.Normalize(request.Email)
		if err != nil {
			return enrich.Answer{}, err
		}
		return enrich.Answer{
			Address: address, Completeness: enrich.Complete, IdempotencyKey: request.IdempotencyKey, Cost: 30,
			Found: enrich.Findings{{Fact: &enrich.Fact{Attribute: "person.title", State: enrich.StateValue,
				Value: enrich.TextValue(title), Source: "vendor", FetchedAt: time.Now(), Confidence: 0.9, Price: 30}}},
			Gaps:     map[enrich.Attribute]enrich.Gap{},
			Attempts: []enrich.Attempt{{Provider: "vendor", Outcome: enrich.Hit, Charged: enrich.KnownCharge(30)}},
		}, nil
	}
}

func fails(kind enrich.ErrorKind, after time.Duration) func(enrich.Request) (enrich.Answer, error) {
	return func(enrich.Request) (enrich.Answer, error) {
		return enrich.Answer{}, &enrich.Error{Kind: kind, Message: "scripted", ReadyAt: time.Now().Add(after)}
	}
}

// failsAsked is fails after a vendor was asked in vain.
func failsAsked(kind enrich.ErrorKind) func(enrich.Request) (enrich.Answer, error) {
	return func(request enrich.Request) (enrich.Answer, error) {
		_, err := fails(kind, 0)(request)
		return enrich.Answer{Attempts: []enrich.Attempt{{Provider: "vendor", Outcome: enrich.Temporary}}}, err
	}
}

// box is a sink that keeps what it was given, or fails.
type box struct {
	mu       sync.Mutex
	messages []sinks.Message
	failure  *sinks.Error
}

// Name is the sink's.
func (b *box) Name() string { return "box" }

// Close does nothing.
func (b *box) Close() error { return nil }

// Deliver keeps the message.
func (b *box) Deliver(_ context.Context, message sinks.Message) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failure != nil {
		return b.failure
	}
	b.messages = append(b.messages, message)
	return nil
}

func (b *box) fail(failure *sinks.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failure = failure
}

func (b *box) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.messages)
}

// objections suppress addresses.
type objections struct {
	mu   sync.Mutex
	keys []string
	away bool
}

func (o *objections) setAway(away bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.away = away
}

// Suppressed tells whether somebody objected.
func (o *objections) Suppressed(key email.Key) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.away {
		return false, errors.New("the list cannot be read")
	}
	return slices.Contains(o.keys, key.Reveal()), nil
}

// Edition is how many have objected.
func (o *objections) Edition() (uint64, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return uint64(len(o.keys)), nil
}

func (o *objections) add(t testing.TB, address string) {
	normalized, err := email.Normalize(address)
	if err != nil {
		t.Fatal(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.keys = append(o.keys, normalized.Key().Reveal())
}

// world is an engine and what it works with.
type world struct {
	engine  *jobs.Engine
	store   *ledger.Store
	script  *script
	box     *box
	objects *objections
	failing atomic.Bool // whether every provider fails for everybody
}

func newWorld(t testing.TB, config ledger.Config, start bool, change ...func(*jobs.Parts)) *world {
	t.Helper()
	if config.Node == "" {
		config.Node = "node-1"
	}
	store, err := ledger.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	normalizer, err := email.New(email.Config{})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{store: store, script: newScript(), box: &box{}, objects: &objections{}}
	parts := jobs.Parts{
		Store: store, Enricher: w.script, Normalizer: normalizer, Suppressions: w.objects, Sinks: []sinks.Sink{w.box},
		Account: func(name string) (enrich.Account, bool) { return enrich.Account{Name: name}, name != "gone" },
		Failing: func(string) bool { return w.failing.Load() },
		Log:     slog.New(slog.DiscardHandler),
	}
	for _, each := range change {
		each(&parts)
	}
	w.engine, err = jobs.New(t.Context(), jobs.Config{Backoff: 20 * time.Millisecond, DeliveryBackoff: 20 * time.Millisecond, DeliveryTries: 3}, parts)
	if err != nil {
		t.Fatal(err)
	}
	if start {
		w.start(t)
	}
	return w
}

func (w *world) start(t testing.TB) {
	t.Helper()
	if err := w.engine.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.engine.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func (w *world) submit(t testing.TB, leads ...jobs.Lead) []jobs.Result {
	t.Helper()
	results, err := w.engine.Submit(t.Context(), acme, leads...)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

func (w *world) lead(t testing.TB, id string) ledger.Lead {
	t.Helper()
	lead, err := w.store.Lead(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return lead
}

// until waits for a condition.
func until(t testing.TB, what string, met func() bool) {
	t.Helper()
	end := time.After(time.Minute)
	for !met() {
		select {
		case <-end:
			t.Fatalf("still waiting until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (w *world) ends(t testing.TB, id string) ledger.Lead {
	t.Helper()
	until(t, "the lead ends", func() bool { return w.lead(t, id).State.Ended() })
	return w.lead(t, id)
}
