package drive_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/loadtest/drive"
)

// TestOpenCountsFromTheIntendedStart stalls the service for a second with one
// caller at a time: the calls that it kept back must show what they waited.
func TestOpenCountsFromTheIntendedStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := drive.NewRecorder()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		drive.Open(ctx, 100, 1, func(_ context.Context, n int64, intended time.Time) bool {
			took := time.Millisecond
			if n == 100 {
				took = time.Second
			}
			time.Sleep(took)
			recorder.Answer(drive.Answer{Code: "OK"}, intended, time.Now())
			return true
		})
		tally := recorder.Tally()
		// A second without answers at 100/s delays about 111 calls, by up to a
		// second. Counted from when they were sent, only one would be late.
		if tally.P50 > 0.6 || tally.P95 < 0.7 || tally.Max < 0.99 {
			t.Errorf("half within %.3f s, 95 %% within %.3f s, longest %.3f s", tally.P50, tally.P95, tally.Max)
		}
		if tally.Answered < 295 || tally.Answered > 301 {
			t.Errorf("%d answers at 100/s in 3 s", tally.Answered)
		}
	})
}

func TestOpenBeginsAtTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		var calls atomic.Int64
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		drive.Open(ctx, 7, 100, func(_ context.Context, n int64, intended time.Time) bool {
			want := begin.Add(time.Duration(float64(n) / 7 * float64(time.Second)))
			if intended != want || time.Now().Before(want) {
				t.Errorf("call %d at %s, intended %s, want %s", n, time.Since(begin), intended.Sub(begin), want.Sub(begin))
			}
			time.Sleep(3 * time.Second) // slow answers change nothing
			return calls.Add(1) < 40
		})
		if n := calls.Load(); n < 40 || n > 62 {
			t.Errorf("%d calls, want it to end after 40 and those under way", n)
		}
	})
}

func TestClosedEndsWhenACallSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		drive.Closed(t.Context(), 8, func(_ context.Context, n int64) bool {
			time.Sleep(time.Millisecond)
			if n >= 100 {
				return false
			}
			calls.Add(1)
			return true
		})
		if calls.Load() != 100 {
			t.Errorf("%d calls, want 100", calls.Load())
		}
	})
}

func TestRecorderTurnsSeconds(t *testing.T) {
	recorder := drive.NewRecorder()
	now := time.Now()
	for range 10 {
		recorder.Ask(0)
		recorder.Answer(drive.Answer{Code: "OK", Tier: "memory", Outcome: "complete"}, now.Add(-time.Second), now)
	}
	recorder.Ask(time.Minute)
	recorder.Answer(drive.Answer{Code: "Unavailable"}, now.Add(-time.Minute), now)
	point := recorder.Turn(4)
	if point.At != 4 || point.Answered != 10 || point.Failed != 1 || point.P99 < 0.99 || point.P99 > 1.01 {
		t.Errorf("point %+v: failures must not count as latencies", point)
	}
	if next := recorder.Turn(5); next.Answered != 0 || next.P99 != 0 {
		t.Errorf("a new second has %+v", next)
	}
	if tally := recorder.Tally(); tally.Asked != 11 || tally.Failed() != 1 || tally.Tiers["memory"] != 10 || tally.Max > 1.01 || tally.Delayed != 1 || tally.LongestDelay != 60 {
		t.Errorf("tally %+v", tally)
	}
}

// TestWhoIsForgottenIsOvertaken has ten questions a second answered in their
// order, but for one that is answered late and one that never is.
func TestWhoIsForgottenIsOvertaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, began := drive.NewRecorder(), time.Now()
		asked := func(n int) time.Time { return began.Add(time.Duration(n) * 100 * time.Millisecond) }
		answer := func(n int) { recorder.Answer(drive.Answer{Code: "OK"}, asked(n), asked(n+10)) }
		for n := range 100 {
			if n != 20 && n != 50 {
				answer(n)
			}
		}
		if got := recorder.Tally().Overtaken; got != 0 {
			t.Errorf("somebody was overtaken by %d, and nobody has come late yet", got)
		}
		answer(50)
		if got := recorder.Tally().Overtaken; got != 30 {
			t.Errorf("the late one was overtaken by %d, want those from the 70th on", got)
		}
		recorder.Leave(asked(20), asked(100))
		if got := recorder.Tally().Overtaken; got != 60 {
			t.Errorf("the forgotten one was overtaken by %d, want those from the 40th on", got)
		}
	})
}

// TestWhoComeTogetherHaveNoOrder answers a clump the wrong way round.
func TestWhoComeTogetherHaveNoOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder, began := drive.NewRecorder(), time.Now()
		for n := range 500 {
			recorder.Answer(drive.Answer{Code: "OK"}, began.Add(time.Duration(1200-n)*time.Millisecond), began.Add(time.Minute))
		}
		if got := recorder.Tally().Overtaken; got != 0 {
			t.Errorf("%d overtook another one", got)
		}
	})
}
