// Package trial runs a scenario: it starts the fleet, asks, lets things happen,
// and brings back the evidence.
package trial

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/enrichd/enrichd/loadtest/fleet"
	"github.com/enrichd/enrichd/loadtest/judge"
	"github.com/enrichd/enrichd/loadtest/scenario"
	"github.com/enrichd/enrichd/providers/fakevendor/strict"
)

// Options of a run.
type Options struct {
	// Binary of enrichd; empty: it is built.
	Binary string
	// Keep is a folder for the replicas' configurations and logs; empty: they are
	// removed.
	Keep string
	// Progress gets a line that is written anew every second; nil: nobody.
	Progress io.Writer
}

// trial is a run under way.
type trial struct {
	*scenario.Scenario

	dir      string
	redis    *fleet.Redis
	vendors  *fleet.Vendors
	replicas []*fleet.Replica
	configs  []fleet.Config
	keys     map[string]string // of accounts
	callers  []*caller
	began    time.Time

	mu     sync.Mutex
	marks  []judge.Mark
	quotas map[string][]judge.Quota
}

// Run runs the scenario and ends all that it started. An error means that there
// is no evidence. When ctx ends after the load has begun, there is evidence until
// then.
func Run(ctx context.Context, s *scenario.Scenario, options Options) (*judge.Report, error) {
	dir := options.Keep
	var err error
	if dir == "" {
		if dir, err = os.MkdirTemp("", "loadtest"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t := &trial{Scenario: s, dir: dir, keys: map[string]string{}, quotas: map[string][]judge.Quota{}}
	defer t.stop()
	if s.Target == nil {
		binary := options.Binary
		if binary == "" {
			if binary, err = fleet.Build(ctx, dir); err != nil {
				return nil, err
			}
		}
		if err := t.startFleet(ctx, binary); err != nil {
			return nil, err
		}
	}
	if err := t.startCallers(); err != nil {
		return nil, err
	}
	if err := t.greet(ctx); err != nil {
		return nil, err
	}
	if err := t.alignToWindow(ctx); err != nil {
		return nil, err
	}
	return t.load(ctx, options.Progress)
}

// longestReading is how long it may take to read what the load left behind.
const longestReading = 30 * time.Second

// load asks for as long as the scenario says, or until ctx ends, and returns what
// came out.
func (t *trial) load(ctx context.Context, progress io.Writer) (*judge.Report, error) {
	var elsewhere *remote
	if t.Target != nil && t.Target.Vendors != "" {
		var err error
		if elsewhere, err = newRemote(ctx, t.Target.Vendors); err != nil {
			return nil, err
		}
	}
	tripsBefore := t.redisTrips(ctx)
	t.began = time.Now()
	for i := range t.Vendors {
		t.noteQuota(t.Vendors[i].Name, t.began, t.Vendors[i].Fake.Limits.Rules)
	}
	loading, cancel := context.WithDeadline(ctx, t.began.Add(t.Length))
	defer cancel()
	var asking, watching sync.WaitGroup
	for _, caller := range t.callers {
		asking.Go(func() { caller.ask(loading, t.began) })
	}
	watched := newWatch(t, progress)
	watchingUntil, stopWatching := context.WithCancel(ctx)
	watching.Go(func() { watched.run(watchingUntil) })
	var failed error
	watching.Go(func() { failed = t.happen(ctx, loading) })
	asking.Wait()
	length := min(time.Since(t.began), t.Length)
	evidence := judge.Evidence{Began: t.began, Length: length, Interrupted: ctx.Err() != nil && length < t.Length, RedisTrips: -1}
	cancel()
	stopWatching()
	watching.Wait()
	if failed != nil {
		return nil, failed
	}
	evidence.Processes, evidence.Marks, evidence.Bands = watched.processes(), t.marks, watched.bands
	// What was measured until an interruption is judged by what is read after it.
	ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), longestReading)
	defer cancel()
	if trips := t.redisTrips(ctx); tripsBefore >= 0 && trips >= tripsBefore {
		evidence.RedisTrips = trips - tripsBefore
	}
	for _, caller := range t.callers {
		evidence.Traffic = append(evidence.Traffic, caller.result(length))
	}
	if elsewhere != nil {
		var err error
		if evidence.Ledgers, err = elsewhere.ledgers(ctx); err != nil {
			return nil, err
		}
	}
	for _, vendor := range t.Vendors {
		ledger := judge.Ledger{
			Name: vendor.Name, Summary: t.vendors.Summary(vendor.Name),
			Entries: t.vendors.Ledger(vendor.Name, 0, t.FakeVendors().LedgerEntries), Quotas: t.quotas[vendor.Name],
		}
		ledger.Cut = max(ledger.Summary.Calls-int64(len(ledger.Entries)), 0) // calls still come in
		evidence.Ledgers = append(evidence.Ledgers, ledger)
	}
	return judge.Judge(t.Scenario, evidence), nil
}

// startFleet starts Redis, vendors and replicas.
func (t *trial) startFleet(ctx context.Context, binary string) (err error) {
	if t.vendors, err = fleet.StartVendors(t.FakeVendors()); err != nil {
		return err
	}
	redis := ""
	if t.Redis {
		if t.redis, err = fleet.StartRedis(ctx, t.dir, fleet.AnyCore); err != nil {
			return err
		}
		redis = t.redis.Address
	}
	config := fleet.Merge(fleet.BaseConfig(redis), fleet.Config{
		"providers": fleet.Config{"list": t.providers()},
		"telemetry": fleet.Config{"admin": "127.0.0.1:0"}, // tells how many goroutines there are
	})
	accounts, err := t.accounts()
	if err != nil {
		return err
	}
	config = fleet.Merge(config, accounts)
	config = fleet.Merge(config, t.Service)
	for i := range t.Replicas {
		replica, err := fleet.StartReplica(ctx, binary, t.dir, fmt.Sprintf("replica %d", i+1), config, fleet.AnyCore)
		if err != nil {
			return err
		}
		t.replicas, t.configs = append(t.replicas, replica), append(t.configs, config)
	}
	return nil
}

// providers are the service's entries for the vendors.
func (t *trial) providers() (list []any) {
	for _, vendor := range t.Vendors {
		entry := vendor.Provider
		if _, told := entry["limits"]; !told && vendor.Fake.Limits.Rules != nil {
			entry = fleet.Merge(entry, fleet.Config{"limits": fleet.Limits(vendor.Fake.Limits.Rules)})
		}
		list = append(list, t.vendors.Provider(vendor.Name, vendor.Definition(), entry))
	}
	return list
}

// oracle of the vendors that were started; nil with a target.
func (t *trial) oracle() (*oracle, error) {
	if t.vendors == nil {
		return nil, nil
	}
	definitions := map[string]string{}
	for _, vendor := range t.Vendors {
		definitions[vendor.Name] = vendor.Definition()
	}
	return newOracle(t.vendors, definitions)
}

// longestAlignment is how long a run waits at most for a window to begin.
const longestAlignment = time.Minute

// alignToWindow waits for the beginning of the longest fixed window that any
// vendor has, so that what is allowed can be told exactly.
func (t *trial) alignToWindow(ctx context.Context) error {
	var longest time.Duration
	for _, vendor := range t.Vendors {
		for _, limit := range vendor.Fake.Limits.Rules {
			if limit.Shape == strict.Fixed {
				longest = max(longest, min(limit.Window, longestAlignment))
			}
		}
	}
	if longest == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(time.Until(time.Now().Truncate(longest).Add(longest))):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t *trial) redisTrips(ctx context.Context) int64 {
	if t.redis == nil {
		return -1
	}
	trips, err := t.redis.Trips(ctx)
	if err != nil {
		return -1
	}
	return trips
}

// stop ends what was started, the last first.
func (t *trial) stop() {
	for _, caller := range t.callers {
		caller.close()
	}
	var stopping sync.WaitGroup
	for _, replica := range slices.Backward(t.replicas) {
		stopping.Go(replica.Stop)
	}
	stopping.Wait()
	if t.redis != nil {
		t.redis.Stop()
	}
	if t.vendors != nil {
		t.vendors.Stop()
	}
}

// mark notes what was done.
func (t *trial) mark(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.marks = append(t.marks, judge.Mark{At: time.Since(t.began).Seconds(), What: what})
}

func (t *trial) noteQuota(vendor string, from time.Time, rules []strict.Limit) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.quotas[vendor] = append(t.quotas[vendor], judge.Quota{From: from, Limits: rules})
}
