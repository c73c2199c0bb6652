package enrich

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCallersShareAFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		})
		var cost Micros
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 100 {
			callers.Go(func() {
				answer, err := service.Enrich(t.Context(), titleOfJane)
				if err != nil || answer.Completeness != Complete {
					t.Errorf("answer = %+v, %v", answer, err)
				}
				mu.Lock()
				defer mu.Unlock()
				cost += answer.Cost
			})
		}
		callers.Wait()
		if len(finder.asks) != 1 || cost != 100 {
			t.Errorf("%d asks costing %d, want one call paid once", len(finder.asks), cost)
		}
	})
}

func TestWhatASharedFlightLacksIsAskedNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		})
		var callers sync.WaitGroup
		callers.Go(func() { mustEnrich(t, service, titleOfJane) })
		synctest.Wait()
		callers.Go(func() {
			both := titleOfJane
			both.Wanted = []Attribute{"person.title", "person.city"}
			if answer := mustEnrich(t, service, both); answer.Completeness != Complete {
				t.Errorf("answer = %+v", answer)
			}
		})
		callers.Wait()
		want := [][]Attribute{{"person.title"}, {"person.city"}}
		if asked := finder.asked(); !slices.EqualFunc(asked, want, slices.Equal) {
			t.Errorf("asked for %v, want %v", asked, want)
		}
	})
}

func TestFlightOutlivesTheCallerThatBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			select {
			case <-time.After(time.Second):
				return knows(ctx, ask)
			case <-ctx.Done():
				return throttled(0)(ctx, ask)
			}
		})
		leaving, leave := context.WithCancel(t.Context())
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := service.Enrich(leaving, titleOfJane); err == nil {
				t.Error("the caller who left got an answer")
			}
		})
		synctest.Wait()
		callers.Go(func() { mustEnrich(t, service, titleOfJane) })
		synctest.Wait()
		leave()
		callers.Wait()
		if len(finder.asks) != 1 {
			t.Errorf("%d asks, want the one flight to live on", len(finder.asks))
		}
	})
}

func TestFlightEndsWithItsLastCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			<-ctx.Done()
			close(ended)
			return throttled(0)(ctx, ask)
		})
		leaving, leave := context.WithCancel(t.Context())
		go func() { synctest.Wait(); leave() }()
		if _, err := service.Enrich(leaving, titleOfJane); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want the cancellation as its cause", err)
		}
		<-ended
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestNewcomerJoinsAFlightThatEverybodyLeft has the only caller leave while a
// call is under way, which goes on as a router's does.
func TestNewcomerJoinsAFlightThatEverybodyLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cancelled := false
		service, finder := newService(t, nil)
		finder.find = func(ctx context.Context, ask Ask) Found {
			time.Sleep(3 * time.Second)
			cancelled = cancelled || ctx.Err() != nil
			return knows(ctx, ask)
		}
		leaving, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, leave)
		if _, err := service.Enrich(leaving, titleOfJane); !errors.Is(err, context.Canceled) {
			t.Errorf("error = %v, want the cancellation as its cause", err)
		}
		both := titleOfJane
		both.Wanted = []Attribute{"person.title", "person.city"}
		if answer := mustEnrich(t, service, both); answer.Completeness != Complete || answer.Cost != 100 {
			t.Errorf("answer = %+v, want the title for nothing and the city for 100", answer)
		}
		want := [][]Attribute{{"person.title"}, {"person.city"}}
		if asked := finder.asked(); !cancelled || !slices.EqualFunc(asked, want, slices.Equal) {
			t.Errorf("cancelled %v, asked for %v, want %v", cancelled, asked, want)
		}
	})
}

// TestFailureOfAnotherCallersFlightIsNotTold has one flight fail in what only
// the caller who left wanted.
func TestFailureOfAnotherCallersFlightIsNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, _ := newService(t, func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			ask.Needs = slices.DeleteFunc(ask.Needs, func(need Need) bool { return need.Attribute != "person.title" })
			found := knowsNothing(ctx, ask)
			found.Failed = map[Attribute]string{"person.city": ReasonPaused}
			found.Err = &Error{Kind: Throttled, Offset: -1}
			return found
		})
		var callers sync.WaitGroup
		callers.Go(func() {
			both := titleOfJane
			both.Wanted = []Attribute{"person.title", "person.city"}
			if _, err := service.Enrich(t.Context(), both); AsError(err) == nil {
				t.Error("who wanted the city is not told that it failed")
			}
		})
		synctest.Wait()
		if answer := mustEnrich(t, service, titleOfJane); answer.Completeness != NotFound {
			t.Errorf("answer = %+v, want that nobody knows the title", answer)
		}
		callers.Wait()
	})
}

func TestLateFactsAreRemembered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			time.AfterFunc(5*time.Second, func() { ask.Late(knows(ctx, ask).Record) })
			return throttled(0)(ctx, ask)
		})
		if _, err := service.Enrich(t.Context(), titleOfJane); err == nil {
			t.Fatal("nothing was found in time")
		}
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if answer := mustEnrich(t, service, titleOfJane); answer.Found.Of("person.title").Tier != MemoryTier || len(finder.asks) != 1 {
			t.Errorf("answer = %+v after %d asks", answer, len(finder.asks))
		}
	})
}

// TestAFailureIsSharedLikeAnAnswer has many callers wait for a call that fails:
// none of them repeats it.
func TestAFailureIsSharedLikeAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(_ context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return Found{Failed: map[Attribute]string{ask.Needs[0].Attribute: string(Malformed)}, Err: &Error{Kind: Unavailable, Offset: -1}}
		})
		var callers sync.WaitGroup
		for range 30 {
			callers.Go(func() {
				if _, err := service.Enrich(t.Context(), titleOfJane); AsError(err) == nil || AsError(err).Kind != Unavailable {
					t.Errorf("error = %v", err)
				}
			})
		}
		callers.Wait()
		if len(finder.asks) != 1 {
			t.Errorf("%d look-ups for one failure", len(finder.asks))
		}
	})
}

// TestAnothersShortTimeIsNotShared has a caller with little time begin the
// flight that one with more joins.
func TestAnothersShortTimeIsNotShared(t *testing.T) {
	for _, reason := range []string{ReasonOutOfTime, ReasonInFlight} {
		t.Run(reason, func(t *testing.T) { anothersShortTime(t, reason) })
	}
}

func anothersShortTime(t *testing.T, reason string) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			select {
			case <-time.After(2 * time.Second):
				return knows(ctx, ask)
			case <-ctx.Done():
				return Found{Failed: map[Attribute]string{"person.title": reason}, Err: &Error{Kind: OutOfTime, Offset: -1}}
			}
		})
		hurried := titleOfJane
		hurried.Budget = time.Second
		var callers sync.WaitGroup
		callers.Go(func() {
			if _, err := service.Enrich(t.Context(), hurried); err == nil {
				t.Error("the hurried caller got an answer")
			}
		})
		synctest.Wait()
		if answer := mustEnrich(t, service, titleOfJane); answer.Completeness != Complete {
			t.Errorf("answer = %+v", answer)
		}
		callers.Wait()
		if len(finder.asks) != 2 {
			t.Errorf("%d look-ups, want one for each", len(finder.asks))
		}
	})
}

// TestMaxAgeAcceptsWhatWasJustFetched has callers accept only facts younger
// than the vendor takes to answer.
func TestMaxAgeAcceptsWhatWasJustFetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			found := knows(ctx, ask)
			time.Sleep(2 * time.Second)
			return found
		})
		request := titleOfJane
		request.MaxAge = time.Nanosecond
		var callers sync.WaitGroup
		for range 20 {
			callers.Go(func() {
				if answer := mustEnrich(t, service, request); answer.Completeness != Complete {
					t.Errorf("answer = %+v", answer)
				}
			})
		}
		callers.Wait()
		if len(finder.asks) != 1 {
			t.Errorf("%d look-ups for callers who asked at the same moment", len(finder.asks))
		}
	})
}

// TestAFlightIsInTheLaneOfItsMostUrgentWaiter has callers of all lanes join one.
func TestAFlightIsInTheLaneOfItsMostUrgentWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var risen []Lane
		service, finder := newService(t, func(ctx context.Context, ask Ask) Found {
			for ctx.Err() == nil && ask.Urgency.Lane() != Interactive {
				risen = append(risen, ask.Urgency.Lane())
				select {
				case <-ask.Urgency.Risen(ask.Urgency.Lane()).Done():
				case <-ctx.Done():
				}
			}
			return knows(ctx, ask)
		})
		begun := time.Now()
		var callers sync.WaitGroup
		for i, lane := range []Lane{Bulk, Standard, Interactive} {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				request := titleOfJane
				request.Lane = lane
				mustEnrich(t, service, request)
				if took := time.Since(begun); took != 2*time.Second {
					t.Errorf("%s lane: answered after %s, want when the interactive caller came", lane, took)
				}
			})
		}
		callers.Wait()
		if len(finder.asks) != 1 || finder.asks[0].Lane != Bulk || !slices.Equal(risen, []Lane{Bulk, Standard}) {
			t.Errorf("asks = %+v, lanes before %v, want one that rose from bulk over standard", finder.asks, risen)
		}
	})
}

// TestCloseLetsNothingBegin closes the service while requests come and go.
func TestCloseLetsNothingBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		time.Sleep(31 * day)
		finder.find = func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		}
		mustEnrich(t, service, titleOfJane)
		var closers sync.WaitGroup
		for range 2 {
			closers.Go(func() {
				if err := service.Close(t.Context()); err != nil || len(service.refreshes.under) != 0 {
					t.Errorf("closed with %d refreshes under way: %v", len(service.refreshes.under), err)
				}
			})
		}
		closers.Wait()
		time.Sleep(31 * day)
		mustEnrich(t, service, titleOfJane)
		synctest.Wait()
		if len(finder.asks) != 2 || len(service.refreshes.under) != 0 {
			t.Errorf("%d asks, want none after the end", len(finder.asks))
		}
	})
}
