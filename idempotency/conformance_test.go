package idempotency

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/email"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/redisconn"
)

// TestConformance runs what a store promises without Redis, with it, and with
// one that is away.
func TestConformance(t *testing.T) {
	for name, config := range map[string]func(t *testing.T) Config{
		"memory": func(*testing.T) Config { return Config{} },
		"redis": func(t *testing.T) Config {
			return Config{Pepper: pepper, Redis: redisconn.Config{Addresses: []string{redistest.Start(t).Addr}}}
		},
		"redis away": func(t *testing.T) Config {
			server := redistest.Start(t)
			server.Kill()
			return Config{Pepper: pepper, Redis: redisconn.Config{Addresses: []string{server.Addr}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			made := config(t)
			for name, promise := range map[string]func(*testing.T, *Store){
				"an answer is repeated":          repeats,
				"another request is refused":     refusesReuse,
				"accounts have their own keys":   keepsAccountsApart,
				"errors are not kept":            forgetsErrors,
				"of two at once one works":       worksOnce,
				"who leaves does not fail it":    outlivesLeavers,
				"a panic frees the key":          survivesPanics,
				"waiting ends with its time":     waitsNoLonger,
				"an erased subject is forgotten": erases,
				"erased while it is worked":      erasesUnderWay,
				"large answers are given once":   givesLargeOnce,
				"an empty answer is an answer":   repeatsNothing,
			} {
				t.Run(name, func(t *testing.T) {
					made.MaxAnswerBytes, made.MemoryBytes = 4096, 1<<20
					promise(t, startStore(t, made))
				})
			}
		})
	}
}

func repeats(t *testing.T, store *Store) {
	times := 0
	for range 3 {
		want(t, store, "repeats", 1, does("answer", &times), "answer")
	}
	want(t, store, "repeats 2", 1, does("another", &times), "another")
	if times != 2 || store.Stats().Repeated != 2 {
		t.Errorf("worked %d times for two keys, %+v", times, store.Stats())
	}
}

func refusesReuse(t *testing.T, store *Store) {
	want(t, store, "reuse", 1, does("answer", new(int)), "answer")
	_, err := store.Do(t.Context(), "sales", "reuse", [32]byte{2}, never(t))
	if typed := enrich.AsError(err); typed.Kind != enrich.Rejected || typed.Reason != ReasonReused || store.Stats().Reused != 1 {
		t.Errorf("it ends with %v, %+v", err, store.Stats())
	}
	want(t, store, "reuse", 1, never(t), "answer")
}

func keepsAccountsApart(t *testing.T, store *Store) {
	want(t, store, "shared", 1, does("of sales", new(int)), "of sales")
	got, err := store.Do(t.Context(), "support", "shared", [32]byte{2}, does("of support", new(int)))
	if err != nil || string(got) != "of support" {
		t.Errorf("the other account: %q, %v", got, err)
	}
}

func forgetsErrors(t *testing.T, store *Store) {
	broken := errors.New("broken")
	fails := func(context.Context) ([]byte, []email.Key, error) { return []byte("x"), nil, broken }
	for range 2 {
		if answer, err := store.Do(t.Context(), "sales", "errors", [32]byte{1}, fails); !errors.Is(err, broken) || answer != nil {
			t.Errorf("%q, %v", answer, err)
		}
	}
	// Not even the request is remembered.
	want(t, store, "errors", 2, does("answer", new(int)), "answer")
}

func worksOnce(t *testing.T, store *Store) {
	var times, beside atomic.Int64
	began, goOn := make(chan struct{}), make(chan struct{})
	work := func(context.Context) ([]byte, []email.Key, error) {
		if times.Add(1) == 1 {
			close(began)
		}
		<-goOn
		return []byte("answer"), nil, nil
	}
	var asking sync.WaitGroup
	ask := func() {
		if got, err := store.Do(t.Context(), "sales", "once", [32]byte{1}, work); err != nil || string(got) != "answer" {
			t.Errorf("%q, %v", got, err)
		}
		beside.Add(1)
	}
	asking.Go(ask)
	<-began
	for range 5 {
		asking.Go(ask)
	}
	if _, err := store.Do(t.Context(), "sales", "once", [32]byte{2}, never(t)); reasonOf(err) != ReasonReused {
		t.Errorf("another request beside it: %v", err)
	}
	close(goOn)
	asking.Wait()
	if times.Load() != 1 || beside.Load() != 6 {
		t.Errorf("worked %d times for %d", times.Load(), beside.Load())
	}
}

func outlivesLeavers(t *testing.T, store *Store) {
	leaving, leave := context.WithCancel(t.Context())
	began := make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		_, err := store.Do(leaving, "sales", "leaver", [32]byte{1}, func(ctx context.Context) ([]byte, []email.Key, error) {
			close(began)
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("who left has %v", err)
		}
	})
	<-began
	asking.Go(func() { want(t, store, "leaver", 1, does("answer", new(int)), "answer") })
	leave()
	asking.Wait()
}

func survivesPanics(t *testing.T, store *Store) {
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is swallowed")
			}
		}()
		_, _ = store.Do(t.Context(), "sales", "panic", [32]byte{1}, func(context.Context) ([]byte, []email.Key, error) { panic("out of order") })
	}()
	want(t, store, "panic", 1, does("answer", new(int)), "answer")
}

func waitsNoLonger(t *testing.T, store *Store) {
	began, goOn := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		want(t, store, "wait", 1, func(context.Context) ([]byte, []email.Key, error) {
			close(began)
			<-goOn
			return []byte("answer"), nil, nil
		}, "answer")
	})
	<-began
	ended, end := context.WithCancelCause(t.Context())
	end(context.DeadlineExceeded)
	_, err := store.Do(ended, "sales", "wait", [32]byte{1}, never(t))
	if typed := enrich.AsError(err); typed.Kind != enrich.OutOfTime || typed.Reason != ReasonInProgress || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ends with %v", err)
	}
	close(goOn)
	asking.Wait()
}

func erases(t *testing.T, store *Store) {
	ada, bob := keyOf(t, "ada@orchard.example"), keyOf(t, "j.doe+x@gmail.com")
	want(t, store, "erased 1", 1, about("about ada", ada), "about ada")
	want(t, store, "erased 2", 1, about("about ada too", ada), "about ada too")
	want(t, store, "erased 3", 1, about("about bob", bob), "about bob")
	if _, err := store.EraseSubject(t.Context(), ada); err != nil && store.shared == nil {
		t.Error(err)
	}
	times := 0
	want(t, store, "erased 1", 1, does("nobody", &times), "nobody")
	want(t, store, "erased 2", 9, does("nobody", &times), "nobody")
	want(t, store, "erased 3", 1, never(t), "about bob")
	if times != 2 {
		t.Error("an answer about an erased subject is kept")
	}
	dropped, err := store.EraseSubject(t.Context(), keyOf(t, "jdoe@googlemail.com"))
	if dropped != 1 || err != nil && store.shared == nil {
		t.Errorf("%d dropped of an alias, %v", dropped, err)
	}
}

func erasesUnderWay(t *testing.T, store *Store) {
	cy := keyOf(t, "cy@orchard.example")
	want(t, store, "under way", 1, func(ctx context.Context) ([]byte, []email.Key, error) {
		_, _ = store.EraseSubject(ctx, cy)
		return []byte("about cy"), []email.Key{cy}, nil
	}, "about cy")
	times := 0
	want(t, store, "under way", 1, does("nobody", &times), "nobody")
	if times != 1 {
		t.Error("an answer about a subject that was erased meanwhile is kept")
	}
}

func givesLargeOnce(t *testing.T, store *Store) {
	large, times := string(make([]byte, store.config.MaxAnswerBytes+1)), 0
	for range 2 {
		want(t, store, "large", 1, does(large, &times), large)
	}
	if times != 2 || store.Stats().TooLarge != 2 {
		t.Errorf("worked %d times, %+v", times, store.Stats())
	}
}

func repeatsNothing(t *testing.T, store *Store) {
	times := 0
	for range 2 {
		want(t, store, "empty", 1, does("", &times), "")
	}
	if times != 1 {
		t.Errorf("worked %d times", times)
	}
}
