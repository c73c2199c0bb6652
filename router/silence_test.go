package router

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// TestSilence of a provider whose answers take 300 ms at most.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &silence{calls: 2, timeout: 10 * time.Second}
		is := func(silent, news bool) {
			t.Helper()
			until, isNews := s.lasts(time.Now())
			if until.IsZero() == silent || isNews != news {
				t.Errorf("silent until %s, news %t; want %t, %t", until, isNews, silent, news)
			}
		}
		begin := func() time.Time {
			s.begun(time.Now())
			return time.Now()
		}
		first := begin()
		time.Sleep(300 * time.Millisecond)
		s.ended(first, time.Now(), healthy)
		second := begin()
		time.Sleep(9 * time.Second)
		is(false, false) // one call alone may be an odd one
		third := begin()
		is(false, false) // nor does it tell of one that has just begun
		time.Sleep(1200 * time.Millisecond)
		is(true, true)
		is(true, false)
		s.ended(second, time.Now(), failing)
		fourth := begin()
		is(true, false) // a failure is no answer
		for range 1000 {
			s.ended(begin(), time.Now(), neutral)
		}
		is(false, false) // a refusal is a sign of life,
		s.ended(third, time.Now(), failing)
		fifth := begin()
		time.Sleep(1100 * time.Millisecond)
		is(false, false) // but tells nothing of the time that answers take
		time.Sleep(200 * time.Millisecond)
		is(true, true)
		s.ended(fourth, time.Now(), failing)
		s.ended(fifth, time.Now(), failing)
		time.Sleep(time.Hour)
		begin()
		begin()
		is(false, false) // nothing was under way in that hour
	})
}

// TestOtherBreakerSettingsForgetHowSlowAProviderWas: one that answered after 5 s once
// may be silent for its whole time, and one that is not known for 2 s.
func TestOtherBreakerSettingsForgetHowSlowAProviderWas(t *testing.T) {
	for name, reload := range map[string]struct {
		to    BreakerConfig
		first string // to be asked after 3 s of silence
	}{"other settings": {BreakerConfig{Least: 30}, "bolt"}, "the same": {BreakerConfig{}, "acme"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listed := []Provider{asked("acme", scriptedVendor("acme", "hit in 5s, then hang")), asked("bolt", scriptedVendor("bolt", "hit"))}
				r := newRouter(t, Parts{Providers: listed, Quota: newQuota(t, map[string][]enrich.Limit{"acme": nil, "bolt": nil})})
				find := func(name string) enrich.Found { return r.Find(t.Context(), titleAsk(t, name, "acme", "bolt")) }
				find("anna")
				if err := r.Apply(Config{Breaker: reload.to}, listed); err != nil {
					t.Fatal(err)
				}
				var others sync.WaitGroup
				defer others.Wait()
				for i := range 5 {
					others.Go(func() { find(fmt.Sprint("other", i)) })
				}
				time.Sleep(3 * time.Second)
				if first := find("hugo").Attempts[0].Provider; first != reload.first {
					t.Errorf("%s was asked first, want %s", first, reload.first)
				}
			})
		})
	}
}
