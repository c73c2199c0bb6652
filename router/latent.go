package router

import (
	"context"
	"sync"
	"time"
)

// latent is a context that is made when somebody waits for its end. A call whose
// token is there waits for nothing, and spares the timer and the links that would
// end its wait. It ends with its deadline or with news, not with both, and is safe
// for concurrent use.
type latent struct {
	context.Context           // that it is made from
	deadline        time.Time // zero: its parent's alone
	news            *walk     // it ends with news for the walk; nil: does not

	mu       sync.Mutex
	made     context.Context
	unmake   func()
	released bool
	ended    error // what Err said first, and says ever after
}

// Deadline is the nearer of its own and its parent's.
func (l *latent) Deadline() (time.Time, bool) {
	deadline, ok := l.Context.Deadline()
	if l.deadline.IsZero() || ok && deadline.Before(l.deadline) {
		return deadline, ok
	}
	return l.deadline, true
}

func (l *latent) Done() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.made != nil:
	case l.released || l.ended != nil:
		l.made, l.unmake = context.WithCancel(l.Context)
		l.unmake()
	case l.news != nil:
		l.made, l.unmake = l.news.linkToNews()
	default:
		l.made, l.unmake = context.WithDeadline(l.Context, l.deadline)
	}
	return l.made.Done()
}

func (l *latent) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.ended = l.ends()
	}
	return l.ended
}

// ends tells why it has ended by now, nil if it has not.
func (l *latent) ends() error {
	if l.made != nil {
		return l.made.Err()
	}
	switch err := l.Context.Err(); {
	case err != nil:
		return err
	case l.released, l.news != nil && l.news.hasNews():
		return context.Canceled
	case !l.deadline.IsZero() && !time.Now().Before(l.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// Value is also how a context that is made from this one finds the one to link to.
func (l *latent) Value(key any) any {
	l.mu.Lock()
	made := l.made
	l.mu.Unlock()
	if made != nil {
		return made.Value(key)
	}
	return l.Context.Value(key)
}

// release ends it.
func (l *latent) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.released = true
	if l.unmake != nil {
		l.unmake()
	}
}
