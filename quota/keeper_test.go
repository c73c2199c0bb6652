package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newKeeper keeps the limits of the provider "acme" until the test ends.
func newKeeper(t *testing.T, config quota.Config, limits ...enrich.Limit) *quota.Keeper {
	t.Helper()
	k, err := quota.New(config, map[string][]enrich.Limit{"acme": limits}, quota.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	return k
}

func acme(lane enrich.Lane, account string) quota.Ask {
	return quota.Ask{Provider: "acme", Operation: "person", Account: account, Lane: lane}
}

// mustAcquire fails the test if the call is refused.
func mustAcquire(t *testing.T, k *quota.Keeper, ask quota.Ask) *quota.Permit {
	t.Helper()
	permit, err := k.Acquire(context.Background(), ask)
	if err != nil {
		t.Fatal(err)
	}
	return permit
}

// within asks with so much time.
func within(t *testing.T, k *quota.Keeper, budget time.Duration, ask quota.Ask) (*quota.Permit, *quota.Refusal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), budget)
	defer cancel()
	permit, err := k.Acquire(ctx, ask)
	var refusal *quota.Refusal
	if err != nil && !errors.As(err, &refusal) {
		t.Fatalf("the error is no refusal: %v", err)
	}
	return permit, refusal
}

var (
	bucket    = enrich.Limit{Name: "rate", Shape: enrich.TokenBucket, Amount: 10, Window: time.Second, Burst: 20}
	perMinute = enrich.Limit{Name: "minute", Shape: enrich.FixedWindow, Amount: 600, Window: time.Minute}
	perDay    = enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 10, Calendar: "day"}
)

func TestRefusedAtOnceWhenTheWaitCannotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, perDay)
		for range 10 {
			mustAcquire(t, k, acme(enrich.Interactive, "a"))
		}
		began := time.Now()
		_, refusal := within(t, k, time.Hour, acme(enrich.Interactive, "a"))
		if refusal == nil || refusal.Reason != enrich.ReasonNoToken {
			t.Fatalf("want a refusal for lack of a token, got %v", refusal)
		}
		if waited := time.Since(began); waited != 0 {
			t.Errorf("waited %s for nothing", waited)
		}
		midnight := time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)
		if late := refusal.ReadyAt.Sub(midnight); late < 0 || late > time.Second {
			t.Errorf("ready at %s, want just after %s", refusal.ReadyAt, midnight)
		}
	})
}

func TestPauseHoldsForAllAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, bucket)
		until := time.Now().Add(3 * time.Second)
		k.Pause("acme", until, enrich.PausedByHint)
		if _, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a")); refusal == nil ||
			refusal.Reason != enrich.ReasonPaused || !refusal.ReadyAt.Equal(until) || refusal.Pause != enrich.PausedByHint {
			t.Fatalf("want a refusal until %s, got %v", until, refusal)
		}
		permit, refusal := within(t, k, 10*time.Second, acme(enrich.Interactive, "a"))
		if refusal != nil {
			t.Fatal(refusal)
		}
		if permit.Waited() != 3*time.Second {
			t.Errorf("waited %s, want until the pause ends", permit.Waited())
		}
	})
}
