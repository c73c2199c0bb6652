package cache

import (
	"context"
	"crypto/rand"
	"errors"
	"math"
	"sync"
	"time"
)

const (
	// leaseLasts is how long a lease outlives its holder at most.
	leaseLasts = 10 * time.Second
	// lookAgain is how often a waiting replica looks, should no message come.
	lookAgain = time.Second
	// leaseTries is how often a slow Redis is asked for a lease. Taking it twice
	// is taking it once.
	leaseTries = 2
	// overtaking begins the token of one who overtakes a holder.
	overtaking = "!"
)

// leases are the leases of this replica: those it holds, and those of others
// for which it waits. The zero leases are none.
type leases struct {
	mu      sync.Mutex
	held    map[tag]*held
	waiting map[tag]*bell
}

// held is a lease of this replica. It ends with its last user, or with a write
// by the only one.
type held struct {
	token string
	ended chan struct{} // made for who asks
	// users are look-ups and holds; holds let other look-ups share the lease.
	users, holds int
}

// bell rings at the next message about a subject.
type bell struct {
	rung   chan struct{}
	guests int // who wait for it
}

// await returns the bell of a subject, which the caller must leave.
func (l *leases) await(t tag) *bell {
	l.mu.Lock()
	defer l.mu.Unlock()
	b := l.waiting[t]
	if b == nil {
		b = &bell{rung: make(chan struct{})}
		if l.waiting == nil {
			l.waiting = map[tag]*bell{}
		}
		l.waiting[t] = b
	}
	b.guests++
	return b
}

// stopWaiting gives up waiting for a bell.
func (l *leases) stopWaiting(t tag, b *bell) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b.guests--; b.guests == 0 && l.waiting[t] == b {
		delete(l.waiting, t)
	}
}

// ring wakes whoever waits for a message about a subject.
func (l *leases) ring(t tag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b := l.waiting[t]; b != nil {
		close(b.rung)
		delete(l.waiting, t)
	}
}

// take notes a lease of this replica, or one more look-up that shares it.
func (l *leases) take(t tag, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held == nil {
		l.held = map[tag]*held{}
	}
	h := l.held[t]
	if h == nil || h.token != token {
		h = &held{token: token}
		l.held[t] = h
	}
	h.users++
}

// end returns what is closed when a lease of this replica ends, nil if it has
// ended.
func (l *leases) end(t tag, token string) <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[t]; h != nil && h.token == token {
		return h.end()
	}
	return nil
}

// end is closed when the lease ends. The caller holds the lock.
func (h *held) end() <-chan struct{} {
	if h.ended == nil {
		h.ended = make(chan struct{})
	}
	return h.ended
}

// hold notes that the lease on a subject is kept beyond its look-up, if there is
// one.
func (l *leases) hold(t tag) (token string, ended <-chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[t]
	if h == nil {
		return "", nil, false
	}
	h.users++
	h.holds++
	return h.token, h.end(), true
}

// shared is the token of a lease that look-ups share, "" for none.
func (l *leases) shared(t tag) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[t]; h != nil && h.holds > 0 {
		return h.token
	}
	return ""
}

// sole is the token of a lease that has one user, "" for none.
func (l *leases) sole(t tag) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[t]; h != nil && h.users == 1 {
		return h.token
	}
	return ""
}

// leave notes that one of the users needs the lease no more, and tells whether
// it was the last.
func (l *leases) leave(t tag, token string, holding bool) (last bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.held[t]
	if h == nil || h.token != token {
		return false
	}
	if holding {
		h.holds--
	}
	if h.users--; h.users > 0 {
		return false
	}
	l.forget(t, h)
	return true
}

// wrote forgets a lease that a write has ended.
func (l *leases) wrote(t tag, token string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if h := l.held[t]; h != nil && h.token == token {
		l.forget(t, h)
	}
}

// forget ends a lease. The caller holds the lock.
func (l *leases) forget(t tag, h *held) {
	if h.ended != nil {
		close(h.ended)
	}
	delete(l.held, t)
}

// lease waits until this replica is the one to ask vendors about a subject, or
// another has brought what is enough. Beginning from what the caller knows, it
// returns all that is known then. Who has waited for half of the time that ctx
// leaves overtakes the holder, which may hang: one replica does, the others go on
// waiting, so that at most two ask at once; when it fails, the next one does. It
// goes on without a lease when Redis is away or slower than a call to a vendor
// bears.
func (r *remote) lease(ctx context.Context, t tag, known *entry, enough func(*entry) bool) (now *entry, release func()) {
	lasts := leaseLasts
	var overtake time.Time // zero: never
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline)
		overtake = time.Now().Add(left / 2)
		lasts = max(min(lasts, left), time.Millisecond)
	}

	token, seen := r.leases.shared(t), int64(0)
	if token == "" {
		token = rand.Text()
	} else {
		lasts = leaseLasts // for whom it is held
	}
	if known != nil {
		seen = int64(known.version)
	}
	for waits := false; ; {
		// Most are granted it at once. Who is not asks again with a bell at hand, lest it
		// rings in between.
		var ring *bell
		if waits {
			ring = r.leases.await(t)
		}
		asOf := r.news.now(t)
		answer, err := r.acquirePatiently(ctx, t, token, lasts, seen)
		refused := err == nil && !answer.granted && answer.stored == ""
		if ring != nil {
			if refused {
				r.waitFor(ctx, ring, answer.wait, overtake)
			}
			r.leases.stopWaiting(t, ring)
		}
		switch {
		case err != nil:
			r.failed(err)
			r.stats.unleased.Add(1)
			return known, func() { r.release(ctx, t, token) } // it may be held all the same
		case answer.granted:
			r.stats.leased.Add(1)
			return known, r.holding(ctx, t, token, lasts)
		case answer.stored != "":
			news := r.unseal([]byte(answer.stored), t, asOf)
			if news == nil {
				seen = math.MaxInt64 // it is none of ours, now and later
				continue
			}
			seen = int64(news.version)
			if known = known.join(news); enough(known) {
				return known, func() {}
			}
		case ctx.Err() != nil:
			r.stats.unleased.Add(1)
			return known, func() {}
		case !waits:
			waits = true
		case !overtake.IsZero() && !time.Now().Before(overtake):
			token, overtake = overtaking+rand.Text(), time.Time{}
		}
	}
}

// waitFor waits for a message about a subject whose lease another holds for so long
// yet, or until it is time to look again, to overtake the holder, or to give up.
func (r *remote) waitFor(ctx context.Context, bell *bell, held time.Duration, overtake time.Time) {
	again := min(held, lookAgain)
	if !overtake.IsZero() {
		again = min(again, time.Until(overtake))
	}
	select {
	case <-bell.rung:
	case <-time.After(again):
	case <-ctx.Done():
	}
}

// leaseAnswer is the answer of the lease script.
type leaseAnswer struct {
	granted bool
	wait    time.Duration
	stored  string
}

func (r *remote) acquirePatiently(ctx context.Context, t tag, token string, lasts time.Duration, seen int64) (answer leaseAnswer, err error) {
	for range leaseTries {
		answer, err = r.acquire(ctx, t, token, lasts, seen)
		if err == nil || errors.Is(err, errAway) || ctx.Err() != nil {
			break
		}
	}
	return answer, err
}

func (r *remote) acquire(ctx context.Context, t tag, token string, lasts time.Duration, seen int64) (leaseAnswer, error) {
	reply, err := leaseScript.Run(ctx, r.writes, r.keys.of(t, schemaSuffix[schema], leaseKey, overtakerKey),
		token, lasts.Milliseconds(), seen, maxSealed+1).Slice()
	if err != nil {
		return leaseAnswer{}, err
	}
	var granted, now, wait int64
	if err := numbers(reply, &granted, &now, &wait); err != nil || len(reply) != 4 {
		return leaseAnswer{}, errScript
	}
	stored, ok := reply[3].(string)
	if !ok {
		return leaseAnswer{}, errScript
	}
	r.clock.set(now)
	return leaseAnswer{granted == 1, time.Duration(wait) * time.Millisecond, stored}, nil
}

// holding renews the lease until it ends or ctx does. Most look-ups have ended
// when it would be renewed for the first time.
func (r *remote) holding(ctx context.Context, t tag, token string, lasts time.Duration) (release func()) {
	r.leases.take(t, token)
	renewal := time.AfterFunc(renewAfter(lasts), func() {
		r.background(func() {
			if ended := r.leases.end(t, token); ended != nil && ctx.Err() == nil {
				r.prolong(t, token, lasts)
				r.renew(t, token, lasts, ended, ctx.Done())
			}
		})
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			renewal.Stop()
			if r.leases.leave(t, token, false) {
				r.release(ctx, t, token)
			}
		})
	}
}

// hold renews the lease on a subject, if this replica has it, until the channel
// is closed.
func (r *remote) hold(t tag, until <-chan struct{}) {
	token, ended, ok := r.leases.hold(t)
	if !ok {
		return
	}
	r.background(func() {
		r.prolong(t, token, leaseLasts) // the look-up's time may be as good as over
		r.renew(t, token, leaseLasts, ended, until)
		if r.leases.leave(t, token, true) {
			r.release(context.Background(), t, token)
		}
	})
}

// renewAfter is how soon a lease is prolonged.
func renewAfter(lasts time.Duration) time.Duration { return max(lasts/3, time.Millisecond) }

// renew prolongs a lease again and again until it ends, stop is closed or the
// cache is.
func (r *remote) renew(t tag, token string, lasts time.Duration, ended, stop <-chan struct{}) {
	again := time.NewTicker(renewAfter(lasts))
	defer again.Stop()
	for {
		select {
		case <-ended:
			return
		case <-r.open.Done():
			return
		case <-stop:
			return
		case <-again.C:
			r.prolong(t, token, lasts)
		}
	}
}

// prolong has a lease last for that long from now.
func (r *remote) prolong(t tag, token string, lasts time.Duration) {
	err := within(r.open, r.store, func(ctx context.Context) error {
		return renewScript.Run(ctx, r.writes, r.keys.of(t, leaseKey, overtakerKey), token, lasts.Milliseconds()).Err()
	})
	if err != nil {
		r.failed(err)
	}
}

// release ends a lease that brought nothing.
func (r *remote) release(ctx context.Context, t tag, token string) {
	err := within(context.WithoutCancel(ctx), r.patience.recall, func(ctx context.Context) error {
		return releaseScript.Run(ctx, r.writes, r.keys.of(t, sequenceKey, leaseKey, overtakerKey), token, r.keys.channel, t[:]).Err()
	})
	if err != nil {
		r.failed(err)
	}
}
