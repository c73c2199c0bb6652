package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// recoverAfter is how long after a failure writes are tried again; it
	// doubles up to recoverAtMost while they fail.
	recoverAfter  = 2 * time.Second
	recoverAtMost = 30 * time.Second
	// recoverWithin is the age at which a write is given up.
	recoverWithin = 24 * time.Hour
	// maxWaiting and maxWaitingBytes bound the writes that wait.
	maxWaiting      = 10_000
	maxWaitingBytes = 16 << 20
	// maxErasing bounds the erasures that wait.
	maxErasing = 100_000
)

// recovery holds what Redis has yet to be told. Of the writes of one subject
// it keeps one, joined; too many are dropped. Erasures are not dropped:
// when there are too many, the next is refused.
type recovery struct {
	mu      sync.RWMutex
	writes  map[tag]waiting
	bytes   int
	erasure map[tag]bool
	journal journal // of the erasures
	wake    chan struct{}
}

type waiting struct {
	entry *entry
	since time.Time
}

// newRecovery begins with the erasures of the journal.
func newRecovery(journal journal) (*recovery, error) {
	q := &recovery{writes: map[tag]waiting{}, erasure: map[tag]bool{}, journal: journal, wake: make(chan struct{}, 1)}
	tags, err := journal.load()
	for _, t := range tags {
		q.erasure[t] = true
		q.signal()
	}
	return q, err
}

// add keeps a write that failed, joined with an earlier one.
func (q *recovery) add(e *entry) (kept bool) {
	if !e.dirty {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	last := q.writes[e.tag]
	next := waiting{entry: last.entry.join(e), since: last.since}
	grown := len(next.entry.payload)
	if last.entry != nil {
		grown -= len(last.entry.payload)
	} else {
		next.since = time.Now()
	}
	if last.entry == nil && len(q.writes) >= maxWaiting || q.bytes+grown > maxWaitingBytes {
		return false
	}
	q.writes[e.tag] = next
	q.bytes += grown
	q.signal()
	return true
}

// take removes any one write.
func (q *recovery) take() (waiting, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for t, next := range q.writes {
		delete(q.writes, t)
		q.bytes -= len(next.entry.payload)
		return next, true
	}
	return waiting{}, false
}

// errErasing is the error of an erasure that cannot wait with the others.
var errErasing = errors.New("cache: too many erasures wait for redis")

// erase keeps an erasure until it is done.
func (q *recovery) erase(t tag) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if last, ok := q.writes[t]; ok {
		delete(q.writes, t)
		q.bytes -= len(last.entry.payload)
	}
	if q.erasure[t] {
		return nil
	}
	if len(q.erasure) >= maxErasing {
		return errErasing
	}
	q.erasure[t] = true
	q.signal()
	return q.journal.add(t)
}

// erased ends the keeping of an erasure.
func (q *recovery) erased(t tag) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.erasure, t)
	if len(q.erasure) > 0 {
		return nil
	}
	return q.journal.clear()
}

// erasing tells whether Redis has yet to erase the subject.
func (q *recovery) erasing(t tag) bool {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return q.erasure[t]
}

// erasures lists what Redis has yet to erase.
func (q *recovery) erasures() []tag {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return slices.Collect(maps.Keys(q.erasure))
}

// size is how many writes and erasures wait.
func (q *recovery) size() int {
	q.mu.RLock()
	defer q.mu.RUnlock()
	return len(q.writes) + len(q.erasure)
}

func (q *recovery) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// recover tells Redis what it has yet to be told, whenever there is something,
// until ctx ends.
func (r *remote) recover(ctx context.Context) {
	pause := recoverAfter
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.recovery.wake:
		}
		for r.recovery.size() > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			switch {
			case r.writing.away.Load():
				pause = recoverAfter
			case r.replayErasures(ctx) && r.replayWrites(ctx):
				pause = recoverAfter
			default:
				pause = min(2*pause, recoverAtMost)
			}
		}
	}
}

// replayErasures erases what waits for it. It returns false at the first
// failure.
func (r *remote) replayErasures(ctx context.Context) bool {
	for _, t := range r.recovery.erasures() {
		err := within(ctx, r.store, func(ctx context.Context) error { return r.erase(ctx, t) })
		if err != nil {
			r.failed(err)
			return false
		}
		if err := r.recovery.erased(t); err != nil {
			r.log.Error("the file of erasures cannot be emptied", "error", err)
		}
	}
	return true
}

// replayWrites stores what waits for it. It returns false at the first failure.
func (r *remote) replayWrites(ctx context.Context) bool {
	for {
		next, ok := r.recovery.take()
		if !ok {
			return true
		}
		if time.Since(next.since) > recoverWithin || !next.entry.until.After(time.Now()) {
			continue
		}
		err := within(ctx, r.store, func(ctx context.Context) error {
			_, err := r.fillAs(ctx, next.entry, "")
			return err
		})
		if err != nil {
			r.failed(err)
			r.later(next.entry)
			return false
		}
	}
}
