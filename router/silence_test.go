package router

import (
	"testing"
	"testing/synctest"
	"time"
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
