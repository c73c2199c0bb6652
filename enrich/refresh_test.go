package enrich

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func TestStaleValueAnswersAndIsRefreshed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		time.Sleep(31 * day)
		if answer := mustEnrich(t, service, titleOfJane); answer.Found.Of("person.title").Tier != MemoryTier {
			t.Errorf("the stale value did not answer: %+v", answer)
		}
		synctest.Wait()
		if len(finder.asks) != 2 || finder.asks[1].Lane != Bulk {
			t.Errorf("asks = %+v, want a second one in the bulk lane", finder.asks)
		}
		answer := mustEnrich(t, service, titleOfJane)
		if age := time.Since(answer.Found.Of("person.title").Fact.FetchedAt); age != 0 {
			t.Errorf("the value is still %s old after its refresh", age)
		}
	})
}

func TestStaleValueAnswersWhenProvidersFail(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		finder.find = throttled(time.Minute)
		request := titleOfJane
		request.Cache = CacheRefresh
		if answer := mustEnrich(t, service, request); answer.Completeness != Complete {
			t.Errorf("answer = %+v", answer)
		}
		request.MaxAge = time.Second
		time.Sleep(time.Minute)
		if _, err := service.Enrich(t.Context(), request); err == nil {
			t.Error("a value older than the caller accepts was answered")
		}
	})
}

func TestOneRefreshPerSubject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		time.Sleep(31 * day)
		finder.find = func(ctx context.Context, ask Ask) Found {
			time.Sleep(time.Second)
			return knows(ctx, ask)
		}
		for range 2 * mostRefreshes {
			mustEnrich(t, service, titleOfJane)
		}
		synctest.Wait()
		if under := len(service.refreshes.under); under != 1 {
			t.Errorf("%d refreshes of one subject", under)
		}
		if err := service.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAValueInDemandIsRefreshedAhead asks about a title, which is fresh for 30
// days, twice towards the end.
func TestAValueInDemandIsRefreshedAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		mustEnrich(t, service, titleOfJane)
		time.Sleep(26 * day)
		for range 3 {
			mustEnrich(t, service, titleOfJane)
		}
		synctest.Wait()
		if len(finder.asks) != 1 {
			t.Fatal("a value was refreshed that is fresh for long")
		}
		time.Sleep(2 * day)
		aged := titleOfJane
		aged.MaxAge = 40 * day
		only := titleOfJane
		only.Cache = CacheOnly
		for _, request := range []Request{aged, aged, only, only, titleOfJane} {
			mustEnrich(t, service, request)
		}
		synctest.Wait()
		if len(finder.asks) != 1 {
			t.Fatal("a value was refreshed that is asked for once, or by callers who accept no stale one")
		}
		answer := mustEnrich(t, service, titleOfJane)
		if age := time.Since(answer.Found.Of("person.title").Fact.FetchedAt); age != 28*day || answer.Cost != 0 {
			t.Errorf("the caller waited for the refresh: %+v", answer)
		}
		synctest.Wait()
		if len(finder.asks) != 2 || finder.asks[1].Lane != Bulk {
			t.Fatalf("asks = %+v, want a second one in the bulk lane", finder.asks)
		}
		answer = mustEnrich(t, service, titleOfJane)
		if age := time.Since(answer.Found.Of("person.title").Fact.FetchedAt); age != 0 || len(finder.asks) != 2 {
			t.Errorf("after the refresh the value is %s old", age)
		}
	})
}

func TestRefreshingAheadCanBeTurnedOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service, finder := newService(t, knows)
		service.Apply(Config{RefreshAhead: -1})
		mustEnrich(t, service, titleOfJane)
		time.Sleep(30*day - time.Minute)
		for range 3 {
			mustEnrich(t, service, titleOfJane)
		}
		synctest.Wait()
		if len(finder.asks) != 1 {
			t.Errorf("%d asks", len(finder.asks))
		}
	})
}

// TestAFailedRefreshIsNotRepeatedAtOnce has the provider fail without saying
// when to come back, in a minute, and in a month.
func TestAFailedRefreshIsNotRepeatedAtOnce(t *testing.T) {
	for _, test := range []struct{ readyIn, pause time.Duration }{
		{0, 30 * time.Second}, {time.Minute, time.Minute}, {30 * day, time.Hour},
	} {
		synctest.Test(t, func(t *testing.T) {
			service, finder := newService(t, knows)
			mustEnrich(t, service, titleOfJane)
			time.Sleep(31 * day)
			finder.find = throttled(test.readyIn)
			ask := func() int {
				for range 10 {
					if answer := mustEnrich(t, service, titleOfJane); answer.Completeness != Complete {
						t.Errorf("the stale value did not answer: %+v", answer)
					}
					synctest.Wait()
				}
				return len(finder.asks)
			}
			if asks := ask(); asks != 2 {
				t.Errorf("%d asks, want the one of the failed refresh", asks)
			}
			time.Sleep(test.pause - time.Millisecond)
			if asks := ask(); asks != 2 {
				t.Errorf("%d asks within the pause", asks)
			}
			time.Sleep(time.Millisecond)
			if asks := ask(); asks != 3 {
				t.Errorf("%d asks after the pause of %s", asks, test.pause)
			}
		})
	}
}

func TestWhatIsKnownOfRefreshesIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var known refreshes
		known.again("first")
		for i := range 3 * mostAsked {
			key := fmt.Sprint(i)
			if known.again(key) || !known.again(key) {
				t.Fatalf("subject %d is taken for another", i)
			}
			if !known.begin(key, time.Now()) {
				t.Fatalf("refresh %d may not begin", i)
			}
			known.end(key, time.Now().Add(time.Hour))
		}
		asked, pauses := len(known.asked.young)+len(known.asked.old), len(known.pauses.young)+len(known.pauses.old)
		if asked > mostAsked || pauses > mostPauses || len(known.under) > 0 {
			t.Errorf("%d subjects asked about, %d pauses, %d refreshes are held", asked, pauses, len(known.under))
		}
		if known.again("first") {
			t.Error("what was asked about long ago counts")
		}
	})
}
