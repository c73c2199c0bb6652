// Package idempotency repeats answers: the same key and request of an account get
// the same answer for a day, and the work behind it is done once.
//
//	Do ── another request under the key? ──► refused
//	   ── kept? ──► the answer
//	   ── under way, here or on another replica? ──► wait for it
//	   └─ lock the key, work, keep the answer
//
// Only answers are kept, never errors. In Redis they are encrypted, because they
// tell of people, and an index by subject lets an erasure find them.
//
// While Redis is away every process goes by its own memory: a repeated request
// that reaches another replica is worked again then, which the caches behind it
// make cheap in most cases, but which may pay a vendor twice.
package idempotency

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
)

// ReasonReused is the reason of the [enrich.Error], of kind Rejected, for a key
// that was used with another request: the caller needs a new key.
const ReasonReused = enrich.ReasonKeyReused

// ReasonInProgress is the reason of the [enrich.Error], of kind OutOfTime, for a
// caller whose time ended while the first request under its key was under way.
const ReasonInProgress = "idempotency_in_progress"

var errReused = &enrich.Error{
	Kind: enrich.Rejected, Reason: ReasonReused, Field: "idempotency_key", Offset: -1,
	Message: "the idempotency key was used with another request",
}

// Work makes an answer and says which subjects it tells of.
type Work = func(ctx context.Context) (answer []byte, subjects []email.Key, err error)

// Store repeats answers. It is safe for concurrent use.
type Store struct {
	config  Config
	secrets secrets
	memory  *memory
	shared  *shared // nil: there is no Redis
	log     *slog.Logger

	mu      sync.Mutex
	flights map[id]*flight

	repeated, reused, tooLarge atomic.Int64
}

// Stats counts since the store was made.
type Stats struct {
	Repeated int64 // answers that were given again
	Reused   int64 // requests refused for the key of another
	TooLarge int64 // answers too large to be kept
}

// flight is one key's work under way in this process. Its result is set before
// done is closed.
type flight struct {
	mark   mark
	done   chan struct{}
	answer []byte
	err    error
	// abandoned: the caller who worked has left, and whoever waits works next.
	abandoned bool
	// erased are the subjects erased since it began, under the store's lock.
	erased map[tag]bool
}

// New makes a store. The error is one of the configuration; a Redis that is away
// is none. Close ends it.
func New(config Config, log *slog.Logger) (*Store, error) {
	if err := errors.Join(config.Validate()...); err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	config = config.WithDefaults()
	s := &Store{
		config:  config,
		secrets: newSecrets(config.Pepper),
		memory:  newMemory(config.MemoryBytes),
		log:     log,
		flights: map[id]*flight{},
	}
	if !config.Redis.Enabled() {
		log.Info("idempotency: answers are kept in memory alone: other replicas do not know them, and a restart forgets them")
		return s, nil
	}
	var err error
	if s.shared, err = newShared(config, s.secrets, log); err != nil {
		return nil, fmt.Errorf("idempotency: %w", err)
	}
	return s, nil
}

// Close ends the store. No Do may be under way.
func (s *Store) Close() error {
	if s.shared == nil {
		return nil
	}
	return s.shared.client.Close()
}

// Stats counts.
func (s *Store) Stats() Stats {
	return Stats{Repeated: s.repeated.Load(), Reused: s.reused.Load(), TooLarge: s.tooLarge.Load()}
}

// Do returns the answer kept under an account's key, which must not be changed,
// or calls work and keeps its answer. Of several at once one works; the others
// wait for it within ctx and share its error, unless its caller has left: then
// the next one works. Fingerprint stands for the request.
func (s *Store) Do(ctx context.Context, account, key string, fingerprint [32]byte, work Work) ([]byte, error) {
	of := s.secrets.id(account, key)
	m := s.secrets.mark(of, fingerprint)
	for {
		f, first := s.join(of, m)
		switch {
		case f.mark != m:
			s.reused.Add(1)
			return nil, errReused
		case first:
			s.fly(ctx, of, f, work)
			return f.answer, f.err
		}
		select {
		case <-ctx.Done():
			return nil, inProgress(ctx)
		case <-f.done:
		}
		if !f.abandoned {
			if f.err == nil {
				s.repeated.Add(1)
			}
			return f.answer, f.err
		}
	}
}

func inProgress(ctx context.Context) error {
	return &enrich.Error{
		Kind: enrich.OutOfTime, Reason: ReasonInProgress, Offset: -1, Cause: context.Cause(ctx),
		Message: "the first request with this idempotency key is still under way",
	}
}

// join returns the flight of a key, and whether it has just begun.
func (s *Store) join(of id, m mark) (f *flight, first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.flights[of]; ok {
		return f, false
	}
	f = &flight{mark: m, done: make(chan struct{}), abandoned: true}
	s.flights[of] = f
	return f, true
}

// fly sets the flight's result. A panic of the work leaves it abandoned.
func (s *Store) fly(ctx context.Context, of id, f *flight, work Work) {
	defer func() {
		s.mu.Lock()
		delete(s.flights, of)
		s.mu.Unlock()
		close(f.done)
	}()
	f.answer, f.err = s.answer(ctx, of, f, work)
	f.abandoned = f.err != nil && ctx.Err() != nil
}

// answer finds the answer, or works for it as the only one of this process and,
// with Redis, of all.
func (s *Store) answer(ctx context.Context, of id, f *flight, work Work) ([]byte, error) {
	if found, ok := s.memory.get(of); ok {
		if !s.shared.erased(ctx, found.about) {
			return s.repeat(found.mark, f.mark, found.answer)
		}
		s.memory.forget(of)
	}
	lock, found, err := s.shared.acquire(ctx, of, f.mark)
	if err != nil {
		return nil, err
	}
	if found != nil {
		return s.repeat(found.mark, f.mark, found.answer)
	}
	stop := lock.renew()
	defer stop()
	answer, subjects, err := work(ctx)
	if err != nil {
		return nil, err
	}
	if len(answer) > s.config.MaxAnswerBytes {
		if s.tooLarge.Add(1) == 1 {
			s.log.Warn("idempotency: an answer is too large to be kept and repeated", "bytes", len(answer), "max_answer_bytes", s.config.MaxAnswerBytes)
		}
		return answer, nil
	}
	return s.keep(ctx, lock, f, &kept{
		id: of, mark: f.mark, answer: answer, about: s.secrets.tagsOf(subjects), until: time.Now().Add(s.config.KeepFor),
	}), nil
}

// repeat gives a kept answer to the same request.
func (s *Store) repeat(of, asked mark, answer []byte) ([]byte, error) {
	if of != asked {
		s.reused.Add(1)
		return nil, errReused
	}
	s.repeated.Add(1)
	return answer, nil
}

// keep keeps an answer, in memory if Redis cannot, and returns the one to give:
// another replica's, where that was first. What tells of somebody who was erased
// meanwhile is not kept.
func (s *Store) keep(ctx context.Context, lock *lock, f *flight, k *kept) []byte {
	s.mu.Lock()
	erased := f.tellsOfErased(k)
	s.mu.Unlock()
	if erased {
		return k.answer
	}
	earlier, err := lock.complete(context.WithoutCancel(ctx), k)
	if err != nil {
		s.remember(f, k)
	}
	if earlier != nil {
		return earlier
	}
	return k.answer
}

// tellsOfErased tells whether a subject of an answer was erased while it was
// made. It is called under the store's lock.
func (f *flight) tellsOfErased(k *kept) bool {
	return slices.ContainsFunc(k.about, func(t tag) bool { return f.erased[t] })
}

// remember keeps an answer in memory. An erasure comes before it or after, never
// between.
func (s *Store) remember(f *flight, k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.tellsOfErased(k) {
		s.memory.put(k)
	}
}

// EraseSubject drops every answer that tells of a subject, also those that are
// being made, and returns how many were kept. The error says that Redis could not
// be reached: what is kept there, and in the memory of other replicas, is not
// dropped yet.
func (s *Store) EraseSubject(ctx context.Context, key email.Key) (int, error) {
	dropped := 0
	for _, t := range s.secrets.tagsOf([]email.Key{key}) {
		s.mu.Lock()
		for _, f := range s.flights {
			if f.erased == nil {
				f.erased = map[tag]bool{}
			}
			f.erased[t] = true
		}
		dropped += s.memory.erase(t)
		s.mu.Unlock()
		more, err := s.shared.erase(ctx, t)
		dropped += more
		if err != nil {
			return dropped, &enrich.Error{
				Kind: enrich.Unavailable, Reason: "redis", Offset: -1, Cause: err,
				Message: "kept answers in Redis could not be dropped yet",
			}
		}
	}
	return dropped, nil
}
