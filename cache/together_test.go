package cache

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/redisconn"
)

// echo is a server that takes a millisecond for every exchange and answers a
// script with its first argument, or fails with it.
type echo struct {
	mu        sync.Mutex
	exchanges []int // how many commands each had
}

func (e *echo) DialHook(next redis.DialHook) redis.DialHook { return next }

func (e *echo) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, command redis.Cmder) error {
		_ = e.answer(ctx, []redis.Cmder{command})
		return command.Err()
	}
}

func (e *echo) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return e.answer
}

func (e *echo) answer(_ context.Context, commands []redis.Cmder) error {
	e.mu.Lock()
	e.exchanges = append(e.exchanges, len(commands))
	e.mu.Unlock()
	time.Sleep(time.Millisecond)
	for _, command := range commands {
		switch first := command.Args()[3].(type) {
		case error:
			command.SetErr(first)
		case int:
			command.(*redis.Cmd).SetVal(int64(first))
		}
	}
	return nil
}

func newEcho(t *testing.T) (*echo, *together) {
	server := &echo{}
	client, err := redisconn.Config{Addresses: []string{"127.0.0.1:1"}}.Client(redisconn.Options{PoolSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	client.AddHook(server) // which passes nothing on
	return server, &together{UniversalClient: client, patience: time.Second}
}

func TestTogetherSharesExchanges(t *testing.T) {
	const callers = 1000
	synctest.Test(t, func(t *testing.T) {
		server, client := newEcho(t)
		var asking sync.WaitGroup
		for n := range callers {
			asking.Go(func() {
				if got, err := client.EvalSha(t.Context(), "sha", nil, n).Int(); err != nil || got != n {
					t.Errorf("caller %d got %d, %v", n, got, err)
				}
			})
		}
		asking.Wait()
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, commands := range server.exchanges {
			if sent += commands; commands > mostTogether {
				t.Errorf("%d commands in one pipeline, at most %d may be", commands, mostTogether)
			}
		}
		if most := 2*mostPipelines + callers/mostTogether; sent != callers || len(server.exchanges) > most {
			t.Errorf("%d commands in %d exchanges, want %d in at most %d", sent, len(server.exchanges), callers, most)
		}
	})
}

func TestTogetherFailsEachAlone(t *testing.T) {
	refusal := errors.New("refused")
	synctest.Test(t, func(t *testing.T) {
		_, client := newEcho(t)
		var asking sync.WaitGroup
		for n := range 10 {
			asking.Go(func() {
				if err := client.EvalSha(t.Context(), "sha", nil, n).Err(); err != nil {
					t.Error(err)
				}
			})
			asking.Go(func() {
				if err := client.EvalSha(t.Context(), "sha", nil, refusal).Err(); !errors.Is(err, refusal) {
					t.Errorf("got %v, want the refusal", err)
				}
			})
		}
		asking.Wait()
		_ = client.Close()
	})
}

func TestTogetherLetsCallersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, client := newEcho(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Microsecond)
		defer cancel()
		began := time.Now()
		if err := client.EvalSha(ctx, "sha", nil, 1).Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of the caller's time", err)
		}
		if waited := time.Since(began); waited != time.Microsecond {
			t.Errorf("waited %s for an answer that is not wanted any more", waited)
		}
		if got, err := client.EvalSha(t.Context(), "sha", nil, 2).Int(); err != nil || got != 2 {
			t.Errorf("the next caller got %d, %v", got, err)
		}
		_ = client.Close()
	})
}
