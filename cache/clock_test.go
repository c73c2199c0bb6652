package cache

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestClock translates the time of a Redis whose clock is far from ours.
func TestClock(t *testing.T) {
	for name, ahead := range map[string]time.Duration{"ahead": time.Hour, "behind": -time.Hour, "alike": 0} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c clock
				happened := time.Now()
				<-time.After(time.Second)
				if got := c.ours(happened.Add(ahead).UnixMicro()); got.Before(happened) {
					t.Errorf("a time that is not known is taken for %v earlier", happened.Sub(got))
				}
				sent := time.Now().Add(ahead)
				<-time.After(10 * time.Millisecond) // on its way
				c.set(sent.UnixMicro())
				errs := func() time.Duration { return c.ours(happened.Add(ahead).UnixMicro()).Sub(happened) }
				if late := errs(); late != 10*time.Millisecond {
					t.Errorf("errs by %v, want the time that the answer took", late)
				}
				answerAfter := func(took time.Duration) {
					sent := time.Now().Add(ahead)
					<-time.After(took)
					c.set(sent.UnixMicro())
				}
				answerAfter(time.Second) // says less than the quicker one
				if late := errs(); late != 10*time.Millisecond {
					t.Errorf("errs by %v after a slow answer", late)
				}
				answerAfter(time.Microsecond)
				if late := errs(); late != time.Microsecond {
					t.Errorf("errs by %v after a quick answer", late)
				}
				<-time.After(2 * measureFor)
				answerAfter(time.Second)
				<-time.After(2 * measureFor)
				answerAfter(time.Second)
				if late := errs(); late != time.Second {
					t.Errorf("errs by %v, long after the last quick answer", late)
				}
			})
		})
	}
}
