package quota_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

// turn turns a switch and fails the test if others could not be told.
func turn(t *testing.T, k *quota.Keeper, scope quota.Scope, name string, off bool) {
	t.Helper()
	if err := k.Switch(context.Background(), scope, name, off, "a test"); err != nil {
		t.Fatal(err)
	}
}

// stopped tells whether a call is refused because it is switched off, and fails
// the test if it is refused for anything else.
func stopped(t *testing.T, k *quota.Keeper, ask quota.Ask) bool {
	t.Helper()
	forecast := k.Forecast(ask).Reason
	permit, refusal := within(t, k, time.Second, ask)
	if refusal == nil {
		permit.Return()
		if forecast == enrich.ReasonStopped {
			t.Error("the forecast says stopped, the call may begin")
		}
		return false
	}
	if refusal.Reason != enrich.ReasonStopped || forecast != enrich.ReasonStopped {
		t.Fatalf("refused for %q, forecast %q", refusal.Reason, forecast)
	}
	return true
}

func names(stops []quota.Stop) (all []string) {
	for _, stop := range stops {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s/%s", stop.Scope, stop.Name), "/"))
	}
	return all
}

func TestSwitchesStopWhatTheyName(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, err := quota.New(quota.Config{}, map[string][]enrich.Limit{"acme": {bucket}, "bolt": nil}, quota.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = k.Close() }()
		for _, c := range []struct {
			scope quota.Scope
			name  string
			stops []string // provider/account
		}{
			{quota.ScopeAll, "", []string{"acme/a", "acme/b", "bolt/a", "bolt/b"}},
			{quota.ScopeProvider, "acme", []string{"acme/a", "acme/b"}},
			{quota.ScopeAccount, "b", []string{"acme/b", "bolt/b"}},
		} {
			for _, off := range []bool{true, false} {
				turn(t, k, c.scope, c.name, off)
				for _, provider := range []string{"acme", "bolt"} {
					for _, account := range []string{"a", "b"} {
						want := off && slices.Contains(c.stops, provider+"/"+account)
						if got := stopped(t, k, quota.Ask{Provider: provider, Account: account}); got != want {
							t.Errorf("%s %s off %v: %s for %s stopped = %v", c.scope, c.name, off, provider, account, got)
						}
					}
				}
			}
		}
		for _, bad := range []struct {
			scope        quota.Scope
			name, reason string
		}{{"planet", "x", ""}, {quota.ScopeAll, "x", ""}, {quota.ScopeProvider, "", ""}, {quota.ScopeAccount, "x", strings.Repeat("x", 501)}} {
			if err := k.Switch(context.Background(), bad.scope, bad.name, true, bad.reason); err == nil {
				t.Errorf("%s %q was switched off", bad.scope, bad.name)
			}
		}
		if left := k.Switches(); len(left) != 0 {
			t.Errorf("still off: %v", left)
		}
	})
}

// TestASwitchRefusesWhoWaits and nobody else; permits that were given hold.
func TestASwitchRefusesWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, enrich.Limit{Name: "rate", Shape: enrich.TokenBucket, Amount: 1, Window: time.Minute, Burst: 1})
		given := mustAcquire(t, k, acme(enrich.Bulk, "a"))
		ends := map[string]chan string{"a": make(chan string, 1), "b": make(chan string, 1)}
		for account, end := range ends {
			go func() {
				if _, refusal := within(t, k, time.Hour, acme(enrich.Bulk, account)); refusal != nil {
					end <- refusal.Reason
				} else {
					end <- "served"
				}
			}()
		}
		synctest.Wait()
		began := time.Now()
		turn(t, k, quota.ScopeAccount, "a", true)
		if reason := <-ends["a"]; reason != enrich.ReasonStopped || time.Since(began) != 0 {
			t.Errorf("who waited was told %q after %s", reason, time.Since(began))
		}
		if reason := <-ends["b"]; reason != "served" {
			t.Errorf("the other account was told %q", reason)
		}
		given.Settle(enrich.KnownCharge(0), nil)
	})
}

func TestASwitchHoldsAtAllReplicasWithinASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, bucket)
		time.Sleep(time.Second)
		for _, off := range []bool{true, false, true} {
			turn(t, f.keepers[0], quota.ScopeProvider, "acme", off)
			time.Sleep(100 * time.Millisecond)
			for i, k := range f.keepers {
				if got := stopped(t, k, acme(enrich.Interactive, "a")); got != off {
					t.Errorf("replica %d: stopped = %v after 100 ms, want %v", i, got, off)
				}
			}
		}
		if late := f.add(t); !stopped(t, late, acme(enrich.Interactive, "a")) {
			t.Error("a replica that starts later does not know")
		}
		stop := f.keepers[2].Switches()[0]
		if stop.Reason != "a test" || stop.Since.IsZero() || stop.Configured {
			t.Errorf("the others know %+v", stop)
		}
	})
}

// TestASwitchOutlivesRedis loses messages, state and connections.
func TestASwitchOutlivesRedis(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, bucket)
		time.Sleep(time.Second)
		turn(t, f.keepers[0], quota.ScopeAccount, "a", true)
		time.Sleep(time.Second)
		f.redis.FlushAll()
		f.redis.FlushAll()
		turn(t, f.keepers[1], quota.ScopeAccount, "b", true)
		time.Sleep(7 * time.Second)
		for i, k := range f.keepers {
			if got := names(k.Switches()); !slices.Equal(got, []string{"account/a", "account/b"}) {
				t.Errorf("replica %d, after a flush: %v", i, got)
			}
		}

		f.cut()
		if err := f.keepers[2].Switch(context.Background(), quota.ScopeAll, "", true, "cut off"); err == nil {
			t.Error("nobody says that the others could not be told")
		}
		if !stopped(t, f.keepers[2], acme(enrich.Interactive, "c")) {
			t.Error("it does not hold where it was turned")
		}
		if err := f.keepers[2].Switch(context.Background(), quota.ScopeAccount, "a", false, ""); err == nil {
			t.Error("nobody says that the others could not be told")
		}
		f.mend()
		time.Sleep(7 * time.Second)
		for i, k := range f.keepers {
			if got := names(k.Switches()); !slices.Equal(got, []string{"account/b", "all"}) {
				t.Errorf("replica %d, after the cut: %v", i, got)
			}
		}
	})
}

func TestSwitchesOutliveARestart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "quota.json")
	k := restart(t, file, bucket)
	turn(t, k, quota.ScopeAccount, "a", true)
	turn(t, k, quota.ScopeAccount, "b", true)
	turn(t, k, quota.ScopeAccount, "b", false)
	k = restart(t, kill(t, file), bucket)
	if got := names(k.Switches()); !slices.Equal(got, []string{"account/a"}) {
		t.Errorf("off after a kill: %v", got)
	}
}

func TestTheConfigurationStopsLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := map[string][]enrich.Limit{"acme": {bucket}}
		k := newKeeper(t, quota.Config{Stopped: quota.StopConfig{Accounts: []string{"a"}}}, bucket)
		if !stopped(t, k, acme(enrich.Interactive, "a")) || stopped(t, k, acme(enrich.Interactive, "b")) {
			t.Error("the configuration stops another account")
		}
		turn(t, k, quota.ScopeAccount, "a", false)
		if stop := k.Switches(); len(stop) != 1 || !stop[0].Configured {
			t.Errorf("a switch undid the configuration: %v", stop)
		}
		if err := k.ApplyConfig(quota.Config{Stopped: quota.StopConfig{Providers: []string{"acme"}}}, limits); err != nil {
			t.Fatal(err)
		}
		if !stopped(t, k, acme(enrich.Interactive, "b")) {
			t.Error("the new configuration does not stop the provider")
		}
		if err := k.ApplyConfig(quota.Config{}, limits); err != nil {
			t.Fatal(err)
		}
		if stopped(t, k, acme(enrich.Interactive, "a")) {
			t.Error("the old configuration still holds")
		}
	})
}

// TestCapsChangeLive lowers and raises a cap of which something is spent.
func TestCapsChangeLive(t *testing.T) {
	for name, redis := range map[string]bool{"alone": false, "shared": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				limits := map[string][]enrich.Limit{"acme": nil}
				capped := func(day enrich.Micros) quota.Config {
					return quota.Config{Caps: []quota.Cap{{Account: "a", Day: day}}}
				}
				var k *quota.Keeper
				var shared quota.RedisConfig
				if redis {
					f := newFleet(t, 0)
					f.config.Caps, f.limits = capped(1000).Caps, limits
					k, shared = f.add(t), f.config.Redis
				} else {
					k = newKeeper(t, capped(1000))
				}
				spend := func(n int) (spent int) {
					for range n {
						if permit, refusal := within(t, k, time.Second, priced("a", 10)); refusal == nil {
							permit.Settle(enrich.KnownCharge(10), nil)
							spent++
						}
					}
					return spent
				}
				apply := func(day enrich.Micros) {
					t.Helper()
					config := capped(day)
					config.Redis = shared
					if err := k.ApplyConfig(config, limits); err != nil {
						t.Fatal(err)
					}
				}
				if n := spend(50); n != 50 {
					t.Fatalf("%d of 50 calls within the cap", n)
				}
				apply(600)
				if n := spend(50); n != 10 {
					t.Errorf("%d calls after the cap fell to 60 of which 50 are spent, want 10", n)
				}
				apply(800)
				if n := spend(50); n != 20 {
					t.Errorf("%d calls after the cap rose by 20, want 20", n)
				}
			})
		})
	}
}

func TestWhatNeedsARestartIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKeeper(t, quota.Config{}, bucket)
		bad := quota.Config{Replicas: 3, MaxCall: time.Hour, StateFile: "x", Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{"127.0.0.1:1"}}}, Stopped: quota.StopConfig{All: true}}
		err := k.ApplyConfig(bad, map[string][]enrich.Limit{"acme": {bucket}})
		for _, field := range []string{"state_file", "replicas", "redis", "max_call"} {
			if err == nil || !strings.Contains(err.Error(), field) {
				t.Errorf("nobody says that %s needs a restart: %v", field, err)
			}
		}
		if stopped(t, k, acme(enrich.Interactive, "a")) {
			t.Error("a part of a configuration that was refused holds")
		}
	})
}
