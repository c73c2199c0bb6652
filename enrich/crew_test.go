package enrich

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestACrewRunsAllAtOnceAndRestsForAWhile(t *testing.T) {
	const many = 2 * mostResting
	synctest.Test(t, func(t *testing.T) {
		var crew Crew
		var running atomic.Int32
		resting := func() int {
			crew.mu.Lock()
			defer crew.mu.Unlock()
			return len(crew.rested)
		}
		for range 3 { // the later ones by those who rest
			hold := make(chan struct{})
			for range many {
				crew.Go(func() {
					running.Add(1)
					defer running.Add(-1)
					<-hold
				})
			}
			synctest.Wait()
			if running.Load() != many || resting() != 0 {
				t.Errorf("%d of %d run at once while %d rest", running.Load(), many, resting())
			}
			close(hold)
			synctest.Wait()
			if running.Load() != 0 || resting() != mostResting {
				t.Errorf("%d run and %d rest, want %d resting", running.Load(), resting(), mostResting)
			}
		}
		time.Sleep(2 * longestRest)
		if synctest.Wait(); resting() != 0 {
			t.Errorf("%d rest for longer than they may", resting())
		}
	})
}

func TestAClosedCrewRunsButDoesNotRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var crew Crew
		ran := 0
		crew.Go(func() { ran++ })
		synctest.Wait()
		crew.Close()
		crew.Close()
		synctest.Wait()
		crew.Go(func() { ran++ }) // whoever rested would outlive the bubble
		if synctest.Wait(); ran != 2 {
			t.Errorf("%d of 2 functions ran", ran)
		}
	})
}

// TestACrewKeepsWhomItNeeds has one function at a time for some sweeps: of many who
// rest one stays.
func TestACrewKeepsWhomItNeeds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var crew Crew
		hold := make(chan struct{})
		for range 20 {
			crew.Go(func() { <-hold })
		}
		close(hold)
		for range 100 {
			time.Sleep(longestRest / 20)
			crew.Go(func() {})
		}
		synctest.Wait()
		crew.mu.Lock()
		if len(crew.rested) != 1 {
			t.Errorf("%d rest, want 1", len(crew.rested))
		}
		crew.mu.Unlock()
		crew.Close()
	})
}
