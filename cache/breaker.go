package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"
)

// errAway is the error of a command that was not sent because Redis is away.
var errAway = errors.New("cache: redis is away")

const (
	// The breaker trips when half of at least tripCalls commands of the last
	// tripWindow failed.
	tripCalls   = 20
	tripWindow  = 30 * time.Second
	tripBucket  = time.Second
	probeEvery  = 2 * time.Second
	probeWithin = 500 * time.Millisecond
)

// breaker keeps requests from waiting for a Redis that is away. While it is
// open no request reaches Redis: only a probe of its own does, so that the
// return of Redis is not tried at a request's expense. There is one for recalls
// and one for leases and writes: a Redis that is too slow for the one still
// keeps replicas from paying twice.
//
//	at hand -- half of the last commands failed --> away
//	at hand <-------- a probe succeeded ----------- away
type breaker struct {
	circuit *gobreaker.TwoStepCircuitBreaker[any]
	away    atomic.Bool
	left    chan struct{} // Redis went away; wakes the prober
	// needed is the time that a healthy Redis may need: a command that was
	// given less says nothing when it runs out of time.
	needed time.Duration
	log    *slog.Logger
}

var _ redis.Hook = (*breaker)(nil)

func newBreaker(needed time.Duration, log *slog.Logger) *breaker {
	b := &breaker{left: make(chan struct{}, 1), needed: needed, log: log}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Name:         "redis",
		MaxRequests:  1,
		Interval:     tripWindow,
		BucketPeriod: tripBucket,
		Timeout:      probeEvery / 2, // over before the next probe
		ReadyToTrip: func(counts gobreaker.Counts) bool {
			return counts.Requests >= tripCalls && 2*counts.TotalFailures >= counts.Requests
		},
		IsSuccessful: func(err error) bool { return !unhealthy(err) },
		IsExcluded:   neutral,
		// It runs under the circuit's lock and must not call it.
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.leave("commands fail")
			}
		},
	})
	return b
}

// leave notes that Redis is away.
func (b *breaker) leave(why string) {
	if b.away.Swap(true) {
		return
	}
	b.log.Warn("redis is away, going on without it", "reason", why)
	select {
	case b.left <- struct{}{}:
	default:
	}
}

// watch probes Redis whenever it is away, until ctx ends. What must be done
// before requests use it again is done by back, whose context passes the
// breaker.
func (b *breaker) watch(ctx context.Context, ping func(context.Context) error, back func(context.Context)) {
	ctx = context.WithValue(ctx, probing{}, true)
	for {
		select {
		case <-ctx.Done():
			return
		case <-b.left:
		}
		for b.away.Load() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(probeEvery):
			}
			if b.probe(ctx, ping) == nil {
				back(ctx)
				b.away.Store(false)
				b.log.Info("redis is back")
			}
		}
	}
}

// probe sends one ping past the breaker's own refusal.
func (b *breaker) probe(ctx context.Context, ping func(context.Context) error) error {
	done, err := b.circuit.Allow()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	err = ping(ctx)
	done(err)
	return err
}

// probing marks the context of the watch, which the hook lets pass uncounted.
type probing struct{}

// DialHook passes.
func (b *breaker) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook refuses commands while Redis is away and counts how they end.
func (b *breaker) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return b.guard(ctx, func() error { return next(ctx, cmd) }, cmd)
	}
}

// ProcessPipelineHook treats a pipeline as one command, or as one for each request
// on whose behalf it is sent.
func (b *breaker) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return b.guard(ctx, func() error { return next(ctx, cmds) }, cmds...)
	}
}

func (b *breaker) guard(ctx context.Context, send func() error, cmds ...redis.Cmder) error {
	if ctx.Value(probing{}) != nil {
		return send()
	}
	if !b.away.Load() {
		if done, ok := b.allow(ctx); ok {
			deadline, ok := ctx.Deadline()
			hurried := ok && time.Until(deadline) < b.needed
			err := send()
			if hurried && errors.Is(err, context.DeadlineExceeded) {
				done(context.Canceled)
			} else {
				done(err)
			}
			return err
		}
	}
	for _, cmd := range cmds {
		cmd.SetErr(errAway)
	}
	return errAway
}

// sharers is the key of the number of requests in a context.
type sharers struct{}

// onBehalf notes on behalf of how many requests a pipeline is sent. Its failure
// counts for each of them, lest a Redis that hangs is found out later the more
// requests wait for it.
func onBehalf(ctx context.Context, requests int) context.Context {
	if requests == 1 {
		return ctx
	}
	return context.WithValue(ctx, sharers{}, requests)
}

// allow asks the circuit for each of the requests; done tells it how they ended.
func (b *breaker) allow(ctx context.Context) (done func(error), ok bool) {
	requests, _ := ctx.Value(sharers{}).(int)
	if requests < 2 {
		done, err := b.circuit.Allow()
		return done, err == nil
	}
	var each []func(error)
	done = func(err error) {
		for _, done := range each {
			done(err)
		}
	}
	for range min(requests, tripCalls) {
		one, err := b.circuit.Allow()
		if err != nil {
			done(context.Canceled)
			return nil, false
		}
		each = append(each, one)
	}
	return done, true
}

// neutral tells which results say nothing about Redis's health: the caller
// went away, or our own connections were all in use.
func neutral(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, redis.ErrPoolTimeout)
}

// unhealthy tells whether an error means that Redis cannot serve. An answer,
// be it "none" or a refusal of this one command, is a sign of health.
func unhealthy(err error) bool {
	var answer redis.Error
	switch {
	case err == nil || errors.Is(err, redis.Nil):
		return false
	case errors.As(err, &answer):
		return redis.IsLoadingError(err) || redis.IsClusterDownError(err) || redis.IsMasterDownError(err) ||
			redis.IsMaxClientsError(err) || redis.IsAuthError(err) || redis.IsTryAgainError(err)
	default:
		return true
	}
}
