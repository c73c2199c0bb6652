package router

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// TestARaisedLookUpMovesToTheInteractiveLane has a bulk look-up wait behind a
// hundred others until an interactive caller joins it.
func TestARaisedLookUpMovesToTheInteractiveLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme := scriptedVendor("acme", "hit times 1000")
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", acme)}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": {bucket(1, time.Second)}})})
		var others sync.WaitGroup
		ctx, leave := context.WithTimeout(t.Context(), 5*time.Minute)
		defer others.Wait()
		defer leave()
		for range 100 {
			others.Go(func() {
				ask := titleAsk(t, "import", "acme")
				ask.Lane = enrich.Bulk
				r.Find(ctx, ask)
			})
		}
		synctest.Wait()

		urgency := enrich.NewUrgency(enrich.Bulk)
		ask := titleAsk(t, "anna", "acme")
		ask.Lane, ask.Urgency = enrich.Bulk, urgency
		done := make(chan enrich.Found, 1)
		go func() { done <- r.Find(ctx, ask) }()
		time.Sleep(10 * time.Second)
		select {
		case <-done:
			t.Fatal("a bulk look-up passed by those who came before it")
		default:
		}
		start := time.Now()
		urgency.Join(enrich.Interactive)
		if found := <-done; len(found.Failed) > 0 {
			t.Errorf("failed: %v", found.Failed)
		}
		if waited := time.Since(start); waited > 2500*time.Millisecond {
			t.Errorf("waited %s for the next call of one a second", waited)
		}
	})
}

// TestARaisedLookUpGoesBehindThoseOfItsNewLane has a bulk look-up join the
// interactive lane, where others wait that began after it.
func TestARaisedLookUpGoesBehindThoseOfItsNewLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		acme := scriptedVendor("acme", "hit times 1000")
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", acme)}, Quota: newQuota(t, map[string][]enrich.Limit{"acme": {bucket(1, time.Second)}})})
		var all sync.WaitGroup
		var mu sync.Mutex
		var order []string
		find := func(name string, lane enrich.Lane, urgency *enrich.Urgency) {
			all.Go(func() {
				ask := titleAsk(t, name, "acme")
				ask.Lane, ask.Urgency = lane, urgency
				r.Find(t.Context(), ask)
				mu.Lock()
				defer mu.Unlock()
				order = append(order, name)
			})
			time.Sleep(time.Millisecond)
		}
		urgency := enrich.NewUrgency(enrich.Bulk)
		find("first", enrich.Interactive, nil)
		find("raised", enrich.Bulk, urgency)
		find("second", enrich.Interactive, nil)
		find("third", enrich.Interactive, nil)
		urgency.Join(enrich.Interactive)
		all.Wait()
		if want := []string{"first", "second", "third", "raised"}; !slices.Equal(order, want) {
			t.Errorf("served %v, want %v", order, want)
		}
	})
}

// TestARaisedLookUpIsLessPatient has it leave a provider that bulk would wait
// for.
func TestARaisedLookUpIsLessPatient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "hit")
		quota.Pause("acme", time.Now().Add(10*time.Second), enrich.PausedByHint)
		urgency := enrich.NewUrgency(enrich.Bulk)
		time.AfterFunc(3*time.Second, func() { urgency.Join(enrich.Interactive) })
		ask := titleAsk(t, "anna", "acme", "bolt")
		ask.Lane, ask.Urgency = enrich.Bulk, urgency
		start := time.Now()
		found := r.Find(t.Context(), ask)
		if took := time.Since(start); took < 3*time.Second || took > 4*time.Second || len(found.Failed) > 0 {
			t.Errorf("found %v after %s, want the other provider's answer after 3s", found.Failed, took)
		}
		if len(found.Attempts) != 1 || found.Attempts[0].Provider != "bolt" {
			t.Errorf("attempts = %+v", found.Attempts)
		}
	})
}

// TestARaisedLookUpHasThePatienceOfItsNewLane: what it waited for a provider in the
// bulk lane does not send it to another that those who ask in its new lane would
// not be sent to.
func TestARaisedLookUpHasThePatienceOfItsNewLane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, quota := newPair(t, "hit")
		quota.Pause("acme", time.Now().Add(10*time.Second), enrich.PausedByHint)
		urgency := enrich.NewUrgency(enrich.Bulk)
		time.AfterFunc(9500*time.Millisecond, func() { urgency.Join(enrich.Interactive) })
		ask := titleAsk(t, "anna", "acme", "bolt")
		ask.Lane, ask.Urgency = enrich.Bulk, urgency
		found := r.Find(t.Context(), ask)
		if len(found.Attempts) != 1 || found.Attempts[0].Provider != "acme" || len(found.Failed) > 0 {
			t.Errorf("failed: %v, attempts = %+v", found.Failed, found.Attempts)
		}
	})
}
