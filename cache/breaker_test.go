package cache

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// answer is an error that Redis itself sends.
type answer string

func (a answer) Error() string { return string(a) }
func (answer) RedisError()     {}

func TestBreakerTripsOnFailures(t *testing.T) {
	refused := errors.New("connection refused")
	for name, test := range map[string]struct {
		result error
		within time.Duration // that the caller gives the command
		trips  bool
	}{
		"no connection":          {refused, time.Second, true},
		"no answer in time":      {context.DeadlineExceeded, time.Second, true},
		"no time given":          {context.DeadlineExceeded, time.Millisecond, false},
		"a caller that left":     {context.Canceled, time.Second, false},
		"nothing stored":         {redis.Nil, time.Second, false},
		"all connections in use": {redis.ErrPoolTimeout, time.Second, false},
		"success":                {nil, time.Second, false},
		"memory full":            {answer("OOM command not allowed when used memory > 'maxmemory'."), time.Second, false},
		"a read-only replica":    {answer("READONLY You can't write against a read only replica."), time.Second, false},
		"an unknown script":      {answer("NOSCRIPT No matching script."), time.Second, false},
		"a wrong password":       {answer("WRONGPASS invalid username-password pair or user is disabled."), time.Second, true},
		"a loading server":       {answer("LOADING Redis is loading the dataset in memory"), time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBreaker(50*time.Millisecond, silent())
				for range tripCalls {
					ctx, cancel := context.WithTimeout(t.Context(), test.within)
					if err := b.guard(ctx, func() error { return test.result }); err != test.result {
						t.Fatalf("got %v", err)
					}
					cancel()
				}
				if b.away.Load() != test.trips {
					t.Errorf("away: %v", !test.trips)
				}
			})
		})
	}
}

// TestBreakerCountsEachThatSharesAPipeline trips by one pipeline of many requests,
// and not by one of a request alone.
func TestBreakerCountsEachThatSharesAPipeline(t *testing.T) {
	for _, test := range []struct {
		requests int
		trips    bool
	}{{1, false}, {tripCalls - 1, false}, {tripCalls, true}, {3 * tripCalls, true}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBreaker(0, silent())
			hangs := func() error { return context.DeadlineExceeded }
			if err := b.guard(onBehalf(t.Context(), test.requests), hangs); err != context.DeadlineExceeded || b.away.Load() != test.trips {
				t.Errorf("%d requests: away %v, %v", test.requests, b.away.Load(), err)
			}
			if err := b.guard(onBehalf(t.Context(), 2), func() error { return nil }); test.trips != errors.Is(err, errAway) {
				t.Errorf("%d requests: the next got %v", test.requests, err)
			}
		})
	}
}

func TestBreakerNeedsHalfToFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(0, silent())
		failed := errors.New("reset by peer")
		for i := range 10 * tripCalls {
			var result error
			if i%3 == 0 {
				result = failed
			}
			b.guard(t.Context(), func() error { return result })
		}
		if b.away.Load() {
			t.Error("trips though two of three succeed")
		}
	})
}

// TestBreakerProbes lets Redis go away and come back: until it is back no
// request reaches it, a probe does every two seconds, and what must be done
// first is done first.
func TestBreakerProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(0, silent())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		gone := errors.New("connection refused")
		var there, wasBack atomic.Bool
		var probes atomic.Int64
		go b.watch(ctx,
			func(context.Context) error {
				probes.Add(1)
				if there.Load() {
					return nil
				}
				return gone
			},
			func(ctx context.Context) {
				if !b.away.Load() {
					t.Error("requests were let in before what must be done first")
				}
				wasBack.Store(b.guard(ctx, func() error { return nil }) == nil)
			})
		for range tripCalls {
			b.guard(ctx, func() error { return gone })
		}

		requests := 0
		request := func() error {
			cmd := redis.NewCmd(ctx, "get", "x")
			err := b.guard(ctx, func() error { requests++; return nil }, cmd)
			if err != nil && cmd.Err() != err {
				t.Errorf("the command's own error is %v", cmd.Err())
			}
			return err
		}
		for range 100 {
			<-time.After(99 * time.Millisecond)
			if err := request(); !errors.Is(err, errAway) {
				t.Fatalf("a request while Redis is away ends with %v", err)
			}
		}
		if requests > 0 || probes.Load() != 4 {
			t.Errorf("in 9.9s %d requests and %d probes reached Redis, want none and 4", requests, probes.Load())
		}

		there.Store(true)
		<-time.After(2 * probeEvery)
		synctest.Wait()
		if err := request(); err != nil || !wasBack.Load() {
			t.Errorf("a request when Redis is back ends with %v", err)
		}

		// The next absence is noticed like the first.
		for range tripCalls {
			b.guard(ctx, func() error { return gone })
		}
		if err := request(); !errors.Is(err, errAway) {
			t.Errorf("the second absence is not noticed: %v", err)
		}
	})
}

// TestBreakerStartsAway begins with a Redis that did not answer at start.
func TestBreakerStartsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBreaker(0, silent())
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.leave("it does not answer")
		go b.watch(ctx, func(context.Context) error { return nil }, func(context.Context) {})
		<-time.After(probeEvery - time.Millisecond)
		synctest.Wait()
		if !b.away.Load() {
			t.Error("back before it was looked for")
		}
		<-time.After(2 * time.Millisecond)
		synctest.Wait()
		if b.away.Load() {
			t.Error("not noticed that it is there")
		}
	})
}
