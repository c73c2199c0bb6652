package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers"
	"github.com/enrichd/enrichd/quota"
)

// watched is a breaker and what it told.
type watched struct {
	*breaker
	states []BreakerState
}

func watch(c BreakerConfig, timeout time.Duration) *watched {
	w := &watched{}
	w.breaker = newBreaker(breakerSettings{c.withDefaults(), timeout}, 0, func(c change) {
		// The library would deadlock on this question inside its callback.
		w.current()
		w.states = append(w.states, c.state)
	})
	return w
}

// call makes a call of a duration that ends with a verdict; false: not admitted.
func (w *watched) call(took time.Duration, v verdict) bool {
	report, ok := w.allow()
	if !ok {
		return false
	}
	time.Sleep(took)
	report(v)
	return true
}

func (w *watched) is(t *testing.T, want BreakerState) {
	t.Helper()
	if state, _ := w.current(); state != want {
		t.Fatalf("the breaker is %s, want %s", state, want)
	}
}

func TestVerdicts(t *testing.T) {
	want := map[enrich.Outcome]verdict{
		enrich.Hit: healthy, enrich.Partial: healthy, enrich.Miss: healthy, enrich.Suppressed: healthy, enrich.Pending: healthy,
		enrich.RateLimited: neutral, enrich.Blocked: neutral, enrich.QuotaExhausted: neutral, enrich.InvalidInput: neutral,
		enrich.AuthFailed: neutral, enrich.Forbidden: neutral, enrich.Expired: neutral,
		enrich.Temporary: failing, enrich.Timeout: failing, enrich.Malformed: failing,
	}
	for _, outcome := range enrich.Outcomes {
		if got := verdictOn(outcome); got != want[outcome] {
			t.Errorf("%s: %v, want %v", outcome, got, want[outcome])
		}
	}
	if len(want) != len(enrich.Outcomes) {
		t.Errorf("%d outcomes have a verdict, there are %d", len(want), len(enrich.Outcomes))
	}
}

// The library loses results of calls that began before its window; a window of
// ten timeouts cannot lose any.
func TestBreakerNoticesSlowFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(BreakerConfig{Failures: 1000, Least: 10}, 10*time.Second)
		for range 10 {
			w.call(9*time.Second, failing)
		}
		w.is(t, BreakerOpen)
	})
}

// The library's streak decays as its buckets roll.
func TestBreakerNoticesRareFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(BreakerConfig{Failures: 4}, 10*time.Second)
		for range 4 {
			w.is(t, BreakerClosed)
			w.call(0, failing)
			time.Sleep(time.Minute)
		}
		if len(w.states) == 0 || w.states[0] != BreakerOpen {
			t.Fatalf("four failures in a row, a minute apart, went unnoticed: %v", w.states)
		}
	})
}

func TestBreakerStreakEndsWithASuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(BreakerConfig{Failures: 3}, time.Second)
		for range 5 {
			w.call(0, failing)
			w.call(0, failing)
			w.call(0, neutral)
			w.call(0, healthy)
		}
		w.is(t, BreakerClosed)
		w.call(0, failing)
		w.call(0, neutral) // says nothing, so the streak goes on
		w.call(0, failing)
		w.call(0, failing)
		w.is(t, BreakerOpen)
	})
}

// TestBreakerOfABusyProviderThatHangs has calls that began together fail together.
// That is an outage where nothing has succeeded since they began, and bad luck
// where other calls have.
func TestBreakerOfABusyProviderThatHangs(t *testing.T) {
	for want, others := range map[BreakerState]int{BreakerOpen: 0, BreakerClosed: 20} {
		synctest.Test(t, func(t *testing.T) {
			const timeout = 10 * time.Second
			w := watch(BreakerConfig{}, timeout)
			for range 30 { // busy
				w.call(100*time.Millisecond, healthy)
			}
			var hanging sync.WaitGroup
			for range 5 {
				hanging.Go(func() { w.call(timeout, failing) })
			}
			synctest.Wait()
			for range others {
				w.call(100*time.Millisecond, healthy)
			}
			hanging.Wait()
			w.is(t, want)
		})
	}
}

func TestBreakerHalfOpenAdmitsExactlyItsProbes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(BreakerConfig{Failures: 1, Probes: 3, OpenFor: 10 * time.Second}, time.Second)
		w.call(0, failing)
		if until, ok := w.ready(); ok || !until.Equal(time.Now().Add(10*time.Second)) {
			t.Fatalf("ready %v, until %s", ok, until)
		}
		time.Sleep(10*time.Second + 1)
		var admitted []func(verdict)
		var mu sync.Mutex
		var callers sync.WaitGroup
		for range 50 {
			callers.Go(func() {
				if report, ok := w.allow(); ok {
					mu.Lock()
					admitted = append(admitted, report)
					mu.Unlock()
				}
			})
		}
		callers.Wait()
		if len(admitted) != 3 {
			t.Fatalf("%d probes were admitted, want 3", len(admitted))
		}
		if _, ok := w.ready(); ok {
			t.Error("it says it is ready while all probes are under way")
		}
		admitted[0](neutral)
		if _, ok := w.ready(); !ok {
			t.Error("a neutral probe must give its place back")
		}
		w.is(t, BreakerHalfOpen)
		admitted[1](healthy)
		admitted[2](healthy)
		w.is(t, BreakerHalfOpen)
		w.call(0, healthy)
		w.is(t, BreakerClosed)
		if want := []BreakerState{BreakerOpen, BreakerHalfOpen, BreakerClosed}; len(w.states) != 3 || w.states[0] != want[0] || w.states[1] != want[1] || w.states[2] != want[2] {
			t.Errorf("told %v, want %v", w.states, want)
		}
	})
}

func TestBreakerOfReplicasProbeApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := BreakerConfig{Failures: 1, OpenFor: 10 * time.Second}.withDefaults()
		for stretch, want := range map[float64]time.Duration{0: 10 * time.Second, 0.5: 11 * time.Second, 0.999: 11998 * time.Millisecond} {
			b := newBreaker(breakerSettings{c, time.Second}, stretch, func(change) {})
			report, _ := b.allow()
			report(failing)
			if until, _ := b.ready(); !until.Equal(time.Now().Add(want)) {
				t.Errorf("stretch %v: open for %s, want %s", stretch, time.Until(until), want)
			}
		}
	})
}

// A late result of a closed time must not count in another.
func TestBreakerIgnoresLateResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := watch(BreakerConfig{Failures: 1, OpenFor: time.Second}, 10*time.Second)
		late, _ := w.allow()
		w.call(0, failing)
		time.Sleep(2 * time.Second)
		w.is(t, BreakerHalfOpen)
		late(failing)
		w.is(t, BreakerHalfOpen)
		w.call(0, healthy)
		w.is(t, BreakerClosed)
	})
}

// TestReplicasShareAnOpenBreaker runs three replicas of one service against a
// provider in outage: one of them finds out, and once per window one probes.
func TestReplicasShareAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const replicas = 3
		vendor := scriptedVendor("acme", "temporary")
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": nil})
		config := Config{Attempts: 1, Breaker: BreakerConfig{Failures: 5, OpenFor: 10 * time.Second}}
		var all []*Router
		for i := range replicas {
			r := newRouter(t, Parts{
				Config: config, Providers: []Provider{asked("acme", vendor)}, Quota: keeper,
				Random: func() float64 { return float64(i) / replicas },
			})
			all = append(all, r)
		}
		callEachFor := func(d time.Duration) (calls int) {
			before := vendor.calls
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
				for _, r := range all {
					r.Find(t.Context(), titleAsk(t, "anna", "acme"))
				}
			}
			return vendor.calls - before
		}
		if calls := callEachFor(5 * time.Second); calls > 5+replicas*4 || calls < 5 {
			t.Errorf("%d calls until the breakers were open, want about 5", calls)
		}
		const windows = 10
		if probes := callEachFor(windows * 10 * time.Second); probes < windows/2 || probes > 2*windows {
			t.Errorf("%d probes in %d windows, want one or two a window", probes, windows)
		}
		vendor.mu.Lock()
		vendor.script = nil
		vendor.mu.Unlock()
		callEachFor(15 * time.Second)
		for i, r := range all {
			if health := r.Health()[0]; health.Breaker != BreakerClosed {
				t.Errorf("the provider is well again, replica %d's breaker is %s", i, health.Breaker)
			}
		}
	})
}

// TestAPeersPauseKeepsAProbeBack: a breaker that is to probe when another
// replica's opens waits for that one's pause and not for one of its own.
func TestAPeersPauseKeepsAProbeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stretch = 0.5 // a tenth of OpenFor
		b := newBreaker(breakerSettings{BreakerConfig{OpenFor: 10 * time.Second}.withDefaults(), time.Second}, stretch, func(change) {})
		b.peerOpened(time.Now().Add(10 * time.Second))
		if until, ok := b.ready(); ok || time.Until(until) != 11*time.Second {
			t.Errorf("a closed breaker opens until %s, %v", until, ok)
		}
		time.Sleep(12 * time.Second)
		for range 3 {
			b.peerOpened(time.Now().Add(4 * time.Second))
			if _, ok := b.allow(); ok {
				t.Error("it probes while a peer's pause lasts")
			}
			time.Sleep(time.Second)
		}
		if until, _ := b.ready(); time.Until(until) != 4*time.Second {
			t.Errorf("it may probe in %s, want after the rest of the pause and apart from the peer", time.Until(until))
		}
		time.Sleep(4 * time.Second)
		report, ok := b.allow()
		if !ok {
			t.Fatal("the peer's pause is over")
		}
		report(healthy)
		if state, _ := b.current(); state != BreakerClosed {
			t.Errorf("after a good probe it is %s", state)
		}
	})
}

func TestTokenGoesBackWhenTheBreakerRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		keeper := newQuota(t, map[string][]enrich.Limit{"acme": {{Name: "at_once", Shape: enrich.Concurrency, Amount: 1}}})
		vendor := scriptedVendor("acme", "hit")
		r := newRouter(t, Parts{Providers: []Provider{asked("acme", vendor)}, Quota: keeper})
		// Half-open, and its only probe is under way.
		trip(r.current.Load().routes[0])
		time.Sleep(20 * time.Second)
		if _, ok := r.current.Load().routes[0].breaker.allow(); !ok {
			t.Fatal("no probe is admitted")
		}
		soon := time.Now().Add(time.Second)
		_, refusal := r.send(t.Context(), r.current.Load().routes[0], question{ask: quota.Ask{Provider: "acme"}, acquireBy: soon})
		if refusal == nil || refusal.Reason != enrich.ReasonBreakerOpen || vendor.calls != 0 {
			t.Errorf("refused because of %v after %d calls", refusal, vendor.calls)
		}
		if left := keeper.Forecast(quota.Ask{Provider: "acme"}); left.Reason != "" {
			t.Errorf("the place among the calls under way is not free: %s", left.Reason)
		}
	})
}

// TestBreakerTellsABusyBrownoutFromAnOutage: a busy provider of which every
// other call fails is asked on, one that is dead is noticed soon, and one that
// is dead and seldom asked as soon as its row of failures has lasted.
func TestBreakerTellsABusyBrownoutFromAnOutage(t *testing.T) {
	for name, c := range map[string]struct {
		every time.Duration
		opens int // after so many failures in a row
	}{"busy": {10 * time.Millisecond, 15}, "seldom asked": {2 * time.Second, 6}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := watch(BreakerConfig{}, 10*time.Second)
				for range 40 {
					w.call(0, healthy)
				}
				for range 3 {
					for range 4 {
						w.call(0, failing)
					}
					w.call(0, healthy)
				}
				for n := 1; n <= c.opens; n++ {
					w.is(t, BreakerClosed)
					time.Sleep(c.every)
					w.call(0, failing)
				}
				w.is(t, BreakerOpen)
			})
		})
	}
}

// mistrusted is a vendor whose every call fails for one reason.
type mistrusted struct{ *testVendor }

func (mistrusted) Lookup(context.Context, providers.Query) providers.Reply {
	return providers.Reply{Outcome: enrich.Temporary, Err: errors.New("the vendor's certificate is not trusted")}
}

// TestTheLogSaysWhatOpenedABreaker at the level of warnings.
func TestTheLogSaysWhatOpenedABreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		r := newRouter(t, Parts{
			Providers: []Provider{asked("troubled", mistrusted{scriptedVendor("troubled", "temporary")})},
			Quota:     newQuota(t, map[string][]enrich.Limit{"troubled": nil}), Log: slog.New(slog.NewTextHandler(&log, nil)),
		})
		for i := range 20 {
			r.Find(t.Context(), titleAsk(t, fmt.Sprintf("ada%d", i), "troubled"))
		}
		if !strings.Contains(log.String(), `msg="breaker changed" provider=troubled state=open cause="the vendor's certificate is not trusted"`) {
			t.Errorf("the log says\n%s", &log)
		}
	})
}
