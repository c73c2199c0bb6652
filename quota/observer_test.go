package quota_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

// diary writes down what it is told.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) write(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, fmt.Sprintf(format, args...))
}

func (d *diary) Granted(provider string, lane enrich.Lane, waited time.Duration) {
	d.write("%s grants %s after %s", provider, lane, waited)
}
func (d *diary) Refused(provider string, lane enrich.Lane, reason string) {
	d.write("%s refuses %s: %s", provider, lane, reason)
}
func (d *diary) Paused(provider string, reason enrich.PauseReason, until time.Time) {
	d.write("%s pauses: %q for %s", provider, reason, max(0, time.Until(until)))
}
func (d *diary) Surprised(provider string)             { d.write("%s surprises", provider) }
func (d *diary) Leased(provider string, result string) { d.write("%s leases: %s", provider, result) }

func TestTheObserverIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &diary{}
		k, err := quota.New(quota.Config{}, map[string][]enrich.Limit{"acme": {perDay}}, quota.Options{Observer: told})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		mustAcquire(t, k, acme("", "a")).Return()
		k.Pause("acme", time.Now().Add(time.Minute), enrich.PausedByHint)
		k.Pause("acme", time.Now().Add(time.Second), enrich.PausedByHint)
		_, _ = within(t, k, time.Second, acme(enrich.Bulk, "a"))
		k.Resume("acme")
		k.Resume("acme")
		want := strings.Join([]string{
			"acme grants interactive after 0s",
			"acme surprises",
			`acme pauses: "retry_after" for 1m0s`,
			"acme refuses bulk: paused",
			`acme pauses: "" for 0s`,
		}, "\n")
		if got := strings.Join(told.lines, "\n"); got != want {
			t.Errorf("told:\n%s\nwant:\n%s", got, want)
		}
	})
}

// TestSnapshot shows what an operator sees.
func TestSnapshot(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		k := start(perMinute, enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 2})[0]
		mustAcquire(t, k, acme(enrich.Standard, "a"))
		mustAcquire(t, k, acme(enrich.Standard, "a"))
		go func() { _, _ = k.Acquire(t.Context(), acme(enrich.Bulk, "a")) }()
		time.Sleep(time.Second)
		state := k.Snapshot()[0]
		if state.Provider != "acme" || state.Running != 2 || state.Waiting[enrich.Bulk] != 1 || !state.Alone.IsZero() {
			t.Errorf("got %+v", state)
		}
		minute, atOnce := state.Limits[0], state.Limits[1]
		if minute.Name != "minute" || minute.Amount != 600 || minute.Left != 598 || time.Until(minute.ResetAt).Round(time.Second) != 59*time.Second {
			t.Errorf("got %+v", minute)
		}
		if atOnce.Name != "at_once" || atOnce.Amount != 2 || atOnce.Left != 0 {
			t.Errorf("got %+v", atOnce)
		}
	})
}

// TestCloseGivesBookedCallsBack: a replica that ends in good order takes nothing
// with it.
func TestCloseGivesBookedCallsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, enrich.Limit{Name: "hour", Shape: enrich.Sliding, Amount: 100, Window: time.Hour})
		for range 5 {
			go func() { _, _ = f.keepers[0].Acquire(t.Context(), acme(enrich.Bulk, "a")) }()
		}
		time.Sleep(10 * time.Millisecond)
		if err := f.keepers[0].Close(); err != nil {
			t.Fatal(err)
		}
		permits := burst(f.keepers[1:], 200, 10*time.Second, acme(enrich.Bulk, "a"))
		if len(permits) != 95 {
			t.Errorf("got %d calls, want what five left of 100", len(permits))
		}
	})
}

// TestWarnings: a Redis that may evict quotas, and replicas without one.
func TestWarnings(t *testing.T) {
	server := redistest.Start(t, "--maxmemory-policy", "allkeys-lru")
	for want, config := range map[string]quota.Config{
		"may evict quotas":       {Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{server.Addr}}}},
		"no Redis is configured": {Replicas: 3},
	} {
		var text bytes.Buffer
		k, err := quota.New(config, nil, quota.Options{Log: slog.New(slog.NewTextHandler(&text, nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Close(); err != nil { // waits for what was begun
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("no warning that says %q: %s", want, &text)
		}
	}
}

// TestReplicasWithoutRedisDivideTheQuota: the parts together are no more than the
// whole.
func TestReplicasWithoutRedisDivideTheQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ks []*quota.Keeper
		for range 3 {
			ks = append(ks, newKeeper(t, quota.Config{Replicas: 3}, enrich.Limit{Name: "minute", Shape: enrich.FixedWindow, Amount: 100, Window: time.Minute}))
		}
		if got := len(burst(ks, 300, 50*time.Second, acme(enrich.Interactive, "a"))); got != 99 {
			t.Errorf("got %d calls, want 33 from each of three", got)
		}
		tiny := newKeeper(t, quota.Config{Replicas: 3}, enrich.Limit{Name: "minute", Shape: enrich.FixedWindow, Amount: 1, Window: time.Minute})
		if got := len(burst([]*quota.Keeper{tiny}, 10, 170*time.Second, acme(enrich.Interactive, "a"))); got > 1 {
			t.Errorf("a third of one call a minute gave %d in three minutes", got)
		}
	})
}
