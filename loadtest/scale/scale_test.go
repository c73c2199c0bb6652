// Package scale_test simulates in virtual time the fleet that docs/scale.md
// plans.
package scale_test

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

const (
	replicas = 20
	waiting  = 8 // callers at each replica for each vendor: a backlog everywhere
)

// By default the simulation is short. The figures of docs/scale.md come from
// -vendors 10 -windows 4.
var (
	vendors = flag.Int("vendors", 2, "how many vendors the fleet calls")
	windows = flag.Int("windows", 2, "how many minutes it does")
	amount  = flag.Int64("amount", 600, "how many calls each vendor allows in a minute")
)

// vendor is one strict vendor at the end of a network.
type vendor struct {
	judge             *strict.Judge
	calls, refused    atomic.Int64
	mu                sync.Mutex
	random            *rand.Rand
	acceptedInTheTime atomic.Int64
}

// call makes one call that takes a fifth of a second or so and returns when a
// refused one may be repeated.
func (v *vendor) call(until time.Time) (ready time.Time, admitted bool) {
	time.Sleep(v.way())
	v.calls.Add(1)
	verdict := v.judge.Admit(strict.Call{}, time.Now())
	if !verdict.Admitted {
		v.refused.Add(1)
		time.Sleep(v.way())
		return verdict.ReadyAt, false
	}
	if time.Now().Before(until) {
		v.acceptedInTheTime.Add(1)
	}
	time.Sleep(120 * time.Millisecond)
	v.judge.Done(strict.Call{})
	time.Sleep(v.way())
	return time.Time{}, true
}

// way is how long a message travels: 5 ms and more, 13 on average, 60 at most.
func (v *vendor) way() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return min(5*time.Millisecond+time.Duration(v.random.ExpFloat64()*float64(8*time.Millisecond)), 60*time.Millisecond)
}

// trips counts what a replica sends to Redis.
type trips struct {
	net.Conn
	sent *atomic.Int64
}

func (c trips) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

// TestTwentyReplicas keeps a backlog for ten vendors at each of twenty replicas
// and lets the vendors judge: the quota is used, not crossed, and Redis is asked
// seldom.
func TestTwentyReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("simulates thousands of calls")
	}
	rule := strict.Limit{Name: "minute", Shape: strict.Fixed, Amount: *amount, Window: time.Minute}
	length := time.Duration(*windows) * rule.Window
	synctest.Test(t, func(t *testing.T) {
		redis := miniredis.NewMiniRedis()
		limits := map[string][]enrich.Limit{}
		judges := map[string]*vendor{}
		for i := range *vendors {
			name := fmt.Sprintf("vendor%d", i)
			limits[name] = []enrich.Limit{{Name: rule.Name, Shape: enrich.FixedWindow, Amount: rule.Amount, Window: rule.Window}}
			judge, err := strict.NewJudge([]strict.Limit{rule}, nil)
			if err != nil {
				t.Fatal(err)
			}
			judges[name] = &vendor{judge: judge, random: rand.New(rand.NewPCG(1, uint64(i)))}
		}
		var sent atomic.Int64
		dial := func(context.Context, string, string) (net.Conn, error) {
			connection, err := redis.Dial()
			return trips{connection, &sent}, err
		}
		var keepers []*quota.Keeper
		for range replicas {
			keeper, err := quota.New(quota.Config{Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{"127.0.0.1:6379"}}}}, limits,
				quota.Options{Dialer: dial, Log: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			keepers = append(keepers, keeper)
		}
		time.Sleep(time.Until(time.Now().Truncate(rule.Window).Add(rule.Window)))
		until := time.Now().Add(length)
		ctx, cancel := context.WithDeadline(t.Context(), until)
		defer cancel()
		var asking sync.WaitGroup
		for _, keeper := range keepers {
			for name, vendor := range judges {
				for range waiting {
					asking.Go(func() { askOn(ctx, keeper, name, vendor, until) })
				}
			}
		}
		asking.Wait()
		var calls, refused, accepted int64
		for _, vendor := range judges {
			calls, refused, accepted = calls+vendor.calls.Load(), refused+vendor.refused.Load(), accepted+vendor.acceptedInTheTime.Load()
		}
		used := float64(accepted) / float64(int64(*vendors**windows)*rule.Amount)
		perCall := float64(sent.Load()) / float64(calls)
		perTenThousand := 10_000 * float64(refused) / float64(calls)
		t.Logf("%d replicas, %d vendors: quota used %.3f, %.1f refused per 10,000, %.2f Redis trips per vendor call, %.0f trips a second",
			replicas, *vendors, used, perTenThousand, perCall, float64(sent.Load())/length.Seconds())
		if used < .97 {
			t.Errorf("quota used %.3f, want at least .97", used)
		}
		if perTenThousand > 5 {
			t.Errorf("%.1f refused per 10,000, want at most 5", perTenThousand)
		}
		for _, keeper := range keepers {
			if err := keeper.Close(); err != nil {
				t.Error(err)
			}
		}
		redis.Close()
		time.Sleep(2 * time.Second) // go-redis looks once more for a lost server
	})
}

// askOn asks for one vendor's calls until ctx ends.
func askOn(ctx context.Context, keeper *quota.Keeper, name string, vendor *vendor, until time.Time) {
	for ctx.Err() == nil {
		permit, err := keeper.Acquire(ctx, quota.Ask{Provider: name, Lane: enrich.Bulk, Account: "import"})
		if err != nil {
			// The wait no longer fits: look again in a while.
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}
			continue
		}
		ready, admitted := vendor.call(until)
		permit.Settle(enrich.KnownCharge(0), nil)
		if !admitted {
			keeper.Pause(name, ready, enrich.PausedByHint)
		}
	}
}
