package accounts

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// limited returns a registry with one account of a rate, and who asks.
func limited(t *testing.T, rate Rate) (*Registry, func() *Caller) {
	registry := mustRegistry(t, Config{List: []Account{{Name: "sales", Rate: rate}}})
	return registry, func() *Caller {
		caller, ok := registry.ByName("sales")
		if !ok {
			t.Fatal("the account is gone")
		}
		return caller
	}
}

func TestARateIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, caller := limited(t, Rate{PerSecond: 10, Burst: 5})
		for left := 4; left >= 0; left-- {
			if got := caller().Take(1); !got.OK || got.Limit != 5 || got.Remaining != left || got.Reset != time.Duration(5-left)*100*time.Millisecond {
				t.Fatalf("%+v, want %d left", got, left)
			}
		}
		refused := caller().Take(1)
		if refused.OK || refused.Remaining != 0 || refused.Retry != 100*time.Millisecond {
			t.Fatalf("beyond the burst: %+v", refused)
		}
		var typed *enrich.Error
		if !errors.As(refused.Refusal(), &typed) || typed.Kind != enrich.Throttled || !typed.ReadyAt.Equal(time.Now().Add(100*time.Millisecond)) {
			t.Errorf("refused with %v", refused.Refusal())
		}
		time.Sleep(refused.Retry - time.Nanosecond)
		if caller().Take(1).OK {
			t.Error("allowed before the time it was told")
		}
		time.Sleep(time.Nanosecond)
		if got := caller().Take(1); !got.OK || got.Refusal() != nil {
			t.Errorf("refused at the time it was told: %+v", got)
		}
		allowed := 0
		for range 1000 {
			time.Sleep(10 * time.Millisecond)
			if caller().Take(1).OK {
				allowed++
			}
		}
		if allowed != 100 {
			t.Errorf("%d in ten seconds, want 100", allowed)
		}
	})
}

// TestABatchLargerThanTheBurst passes when nothing else does, and is then
// earned.
func TestABatchLargerThanTheBurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, caller := limited(t, Rate{PerSecond: 10, Burst: 5})
		if got := caller().Take(50); !got.OK || got.Remaining != 0 || got.Reset != 5*time.Second {
			t.Fatalf("a batch: %+v", got)
		}
		refused := caller().Take(50)
		if refused.OK || refused.Retry != 5*time.Second {
			t.Fatalf("another: %+v", refused)
		}
		time.Sleep(refused.Retry)
		if !caller().Take(50).OK {
			t.Error("refused at the time it was told")
		}
	})
}

func TestNoRateNoLimit(t *testing.T) {
	_, caller := limited(t, Rate{})
	for range 1000 {
		if got := caller().Take(1000); !got.OK || got.Limit != 0 {
			t.Fatalf("limited: %+v", got)
		}
	}
}

// TestReloadsRefillNothing changes the rate of an account that has used all it
// may: as many tokens are missing afterwards.
func TestReloadsRefillNothing(t *testing.T) {
	for name, test := range map[string]struct {
		to   Rate
		wait time.Duration // until the next request
	}{
		"the same":            {Rate{PerSecond: 10, Burst: 5}, 100 * time.Millisecond},
		"slower":              {Rate{PerSecond: 1, Burst: 5}, time.Second},
		"faster":              {Rate{PerSecond: 100, Burst: 5}, 10 * time.Millisecond},
		"a smaller bucket":    {Rate{PerSecond: 10, Burst: 2}, 400 * time.Millisecond},
		"a larger bucket":     {Rate{PerSecond: 10, Burst: 6}, 0},
		"no limit any longer": {Rate{}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			registry, caller := limited(t, Rate{PerSecond: 10, Burst: 5})
			caller().Take(5)
			if err := registry.Apply(Config{List: []Account{{Name: "sales", Rate: test.to}}}); err != nil {
				t.Fatal(err)
			}
			got := caller().Take(1)
			if got.Retry != test.wait {
				t.Errorf("%s: %+v, want a wait of %v", name, got, test.wait)
			}
		})
	}
}
