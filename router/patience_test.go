package router

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// patienceOf are the defaults.
var patienceOf = map[enrich.Lane]time.Duration{
	enrich.Interactive: time.Second, enrich.Standard: 2 * time.Second, enrich.Bulk: 20 * time.Second,
}

// TestPatienceIsForAllWaitsTogether has a provider ask for another second again and
// again, as one that answers some calls with 429: each wait is bearable, together
// they are not while another provider could be asked at once.
func TestPatienceIsForAllWaitsTogether(t *testing.T) {
	for lane, patience := range patienceOf {
		t.Run(string(lane), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, quota := newPair(t, "hit")
				stop := pauseAgainAndAgain(quota.Pause, "acme")
				defer stop()
				ask := titleAsk(t, "anna", "acme", "bolt")
				ask.Lane = lane
				start := time.Now()
				found := r.Find(t.Context(), ask)
				if took := time.Since(start); took > patience*3/2 || len(found.Failed) > 0 {
					t.Errorf("found %v after %s, with a patience of %s", found.Failed, took, patience)
				}
				if len(found.Attempts) != 1 || found.Attempts[0].Provider != "bolt" {
					t.Errorf("attempts = %+v", found.Attempts)
				}
			})
		})
	}
}

// TestSpentPatienceTakesWhatIsThere: a provider that was waited for in vain is
// still asked first when it can be asked at once.
func TestSpentPatienceTakesWhatIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "hit")
		quota.Pause("bolt", time.Now().Add(time.Minute), enrich.PausedByHint)
		stop := pauseAgainAndAgain(quota.Pause, "acme")
		time.AfterFunc(10*time.Second, stop)
		ask := titleAsk(t, "anna", "acme", "bolt")
		ask.Lane = enrich.Standard
		start := time.Now()
		found := r.Find(t.Context(), ask)
		if took := time.Since(start); took > 12*time.Second || len(found.Failed) > 0 {
			t.Errorf("found %v after %s, want acme's answer after some 10s", found.Failed, took)
		}
		if len(found.Attempts) != 1 || found.Attempts[0].Provider != "acme" {
			t.Errorf("attempts = %+v", found.Attempts)
		}
	})
}

// TestAJobUnderWayKeepsItsPatience: its provider was waited for before it was
// begun, and is busy when the job is asked for. It is paid, so nobody else is.
func TestAJobUnderWayKeepsItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme, bolt := scriptedVendor("acme", "pending wait 500ms, then hit"), scriptedVendor("bolt", "hit")
		quota := newQuota(t, map[string][]enrich.Limit{"acme": {bucket(10, time.Second)}, "bolt": nil})
		const pause = 950 * time.Millisecond
		quota.Pause("acme", time.Now().Add(pause), enrich.PausedByHint)
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", acme), asked("bolt", bolt)}, Quota: quota})
		others := newRouter(t, Parts{Providers: []Provider{asked("acme", scriptedVendor("acme", "hit times 15"))}, Quota: quota})
		var all sync.WaitGroup
		defer all.Wait()
		time.AfterFunc(pause+400*time.Millisecond, func() {
			for i := range 15 {
				all.Go(func() {
					ask := titleAsk(t, fmt.Sprint("other", i), "acme")
					ask.Account.Name = "others"
					others.Find(t.Context(), ask)
				})
			}
		})
		found := r.Find(t.Context(), titleAsk(t, "anna", "acme", "bolt"))
		if len(found.Attempts) != 2 || found.Attempts[1].Provider != "acme" || len(found.Failed) > 0 {
			t.Errorf("failed: %v, attempts = %+v", found.Failed, found.Attempts)
		}
	})
}

// TestAJobThatGoesOnKeepsItsPatience: its provider is busy for a moment at every poll,
// for longer than patience in all.
func TestAJobThatGoesOnKeepsItsPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "pending wait 1s times 6, then hit")
		for poll := range 6 {
			time.AfterFunc(time.Duration(poll)*1500*time.Millisecond+time.Second, func() {
				quota.Pause("acme", time.Now().Add(500*time.Millisecond), enrich.PausedByOperator)
			})
		}
		found := r.Find(t.Context(), titleAsk(t, "anna", "acme", "bolt"))
		waited := time.Duration(0)
		for _, attempt := range found.Attempts {
			waited += attempt.Waited
		}
		if last := found.Attempts[len(found.Attempts)-1]; last.Provider != "acme" || len(found.Attempts) != 7 || len(found.Failed) > 0 {
			t.Errorf("failed: %v, attempts = %+v", found.Failed, found.Attempts)
		}
		if waited < 7500*time.Millisecond {
			t.Errorf("waited %s in all, which proves nothing", waited)
		}
	})
}

// TestAJobUnderWayIsNotWaitedForWithoutEnd: its provider is paused again and again
// while another could be asked.
func TestAJobUnderWayIsNotWaitedForWithoutEnd(t *testing.T) {
	for lane, patience := range patienceOf {
		t.Run(string(lane), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, quota := newPair(t, "pending wait 500ms, then hit")
				time.AfterFunc(200*time.Millisecond, func() {
					stop := pauseAgainAndAgain(quota.Pause, "acme")
					time.AfterFunc(time.Minute, stop)
				})
				ask := titleAsk(t, "anna", "acme", "bolt")
				ask.Lane = lane
				start := time.Now()
				found := r.Find(t.Context(), ask)
				if took := time.Since(start); took > time.Second+patience*3/2 || len(found.Failed) > 0 {
					t.Errorf("found %v after %s, with a patience of %s", found.Failed, took, patience)
				}
				time.Sleep(time.Minute)
			})
		})
	}
}

// pauseAgainAndAgain has a provider paused for another second whenever a second is
// nearly over.
func pauseAgainAndAgain(pause func(string, time.Time, enrich.PauseReason), provider string) (stop func()) {
	stopped := make(chan struct{})
	again := func() { pause(provider, time.Now().Add(time.Second), enrich.PausedByHint) }
	again()
	go func() {
		for {
			select {
			case <-stopped:
				return
			case <-time.After(900 * time.Millisecond):
				again()
			}
		}
	}()
	return sync.OnceFunc(func() { close(stopped) })
}

// TestPatienceEndsAWaitOnceAnotherIsFree: nobody else can be asked when the wait
// begins, and the other provider becomes free during it.
func TestPatienceEndsAWaitOnceAnotherIsFree(t *testing.T) {
	const free = 3 * time.Second
	for name, answers := range map[string]string{"its pause goes on": "hit", "it asks for a long wait": "rate_limited wait 30s, then hit"} {
		for lane, patience := range patienceOf {
			t.Run(name+", "+string(lane), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r, quota := newPair(t, answers)
					quota.Pause("bolt", time.Now().Add(free), enrich.PausedByHint)
					if answers == "hit" {
						stop := pauseAgainAndAgain(quota.Pause, "acme")
						defer stop()
					}
					ask := titleAsk(t, "anna", "acme", "bolt")
					ask.Lane = lane
					start := time.Now()
					found := r.Find(t.Context(), ask)
					if took := time.Since(start); took > free+patience*3/2 || len(found.Failed) > 0 {
						t.Errorf("found %v after %s, with a patience of %s", found.Failed, took, patience)
					}
					if len(found.Attempts) == 0 || found.Attempts[len(found.Attempts)-1].Provider != "bolt" {
						t.Errorf("attempts = %+v", found.Attempts)
					}
				})
			})
		}
	}
}

// TestAnEndOfPatienceIsNoRefusal: both providers are paused again and again, so
// that many a wait ends when the other was to be free. The first that is free is
// asked none the less.
func TestAnEndOfPatienceIsNoRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "hit")
		for provider, length := range map[string]time.Duration{"acme": 20 * time.Second, "bolt": 40 * time.Second} {
			stop := pauseAgainAndAgain(quota.Pause, provider)
			time.AfterFunc(length, stop)
			defer stop()
		}
		start := time.Now()
		found := r.Find(t.Context(), titleAsk(t, "anna", "acme", "bolt"))
		if took := time.Since(start); took > 22*time.Second || len(found.Failed) > 0 {
			t.Errorf("found %v after %s, want acme's answer after some 20s", found.Failed, took)
		}
		if len(found.Attempts) != 1 || found.Attempts[0].Provider != "acme" {
			t.Errorf("attempts = %+v", found.Attempts)
		}
	})
}

// TestWaitsWhileNobodyIsFreeCostNoPatience: its provider was waited for in the time
// that another could not be asked either, and asks for a short wait then.
func TestWaitsWhileNobodyIsFreeCostNoPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "rate_limited wait 400ms, then hit")
		quota.Pause("acme", time.Now().Add(3*time.Second), enrich.PausedByHint)
		quota.Pause("bolt", time.Now().Add(3500*time.Millisecond), enrich.PausedByHint)
		found := r.Find(t.Context(), titleAsk(t, "anna", "acme", "bolt"))
		if len(found.Attempts) != 2 || found.Attempts[1].Provider != "acme" || len(found.Failed) > 0 {
			t.Errorf("failed: %v, attempts = %+v", found.Failed, found.Attempts)
		}
	})
}
