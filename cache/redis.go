package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/redisconn"
)

const (
	// startWithin bounds the first look at Redis.
	startWithin = 2 * time.Second
	// ready is how many connections are open for reading, and for writing,
	// before the first request needs one.
	ready = 8
)

// patience is how long is waited for Redis.
type patience struct {
	recall time.Duration // what a recall may add to a request
	store  time.Duration // a write or a lease, which save the price of a call
}

var usualPatience = patience{recall: 50 * time.Millisecond, store: 250 * time.Millisecond}

// remote is the tier in Redis, shared by all replicas.
type remote struct {
	patience
	reads    *together // retries once
	writes   *together // never retries: a lost answer may hide a done write
	keys     keyspace
	reading  *breaker // recalls do without a Redis that is slow
	writing  *breaker // leases and writes only without one that is away
	clock    clock
	news     *news
	follower follower
	barriers *barriers
	leases   leases
	recovery *recovery
	stats    *counters
	log      *slog.Logger
	open     context.Context // until the tier is closed
	cancel   context.CancelFunc
	ending   sync.Mutex // held while something begins in the background, and while open ends
	running  sync.WaitGroup
	ended    sync.Once
	// complained is when a failure was last logged, in Unix seconds.
	complained atomic.Int64
}

var _ tier = (*remote)(nil)

// newRemote makes the tier of Redis, which may be away, now or later. The
// config must be valid and have its defaults. Start lets it work.
func newRemote(config RedisConfig, patience patience, barriers *barriers, stats *counters, log *slog.Logger) (*remote, error) {
	recovery, err := newRecovery(journal(config.ErasuresFile))
	if err != nil {
		return nil, err
	}
	r := &remote{
		patience: patience,
		keys:     newKeyspace(config.Prefix, config.DB),
		reading:  newBreaker(patience.recall*3/4, log.With("for", "recalls")),
		writing:  newBreaker(patience.store*3/4, log.With("for", "leases and writes")),
		news:     newNews(),
		follower: none{},
		barriers: barriers,
		recovery: recovery,
		stats:    stats,
		log:      log,
	}
	r.open, r.cancel = context.WithCancel(context.Background())
	options := redisconn.Options{Patience: patience.store, PoolSize: config.PoolSize, MinIdle: min(ready, config.PoolSize)}
	writes, err := config.Client(options)
	if err != nil {
		return nil, err
	}
	options.Repeats, options.PoolPatience = 1, patience.recall
	reads, err := config.Client(options)
	if err != nil {
		return nil, errors.Join(err, writes.Close())
	}
	r.writes = &together{UniversalClient: writes, patience: patience.store}
	r.reads = &together{UniversalClient: reads, patience: patience.recall}
	r.reads.AddHook(r.reading)
	r.writes.AddHook(r.writing)
	return r, nil
}

// start looks for Redis, opens connections to it, and begins to follow the
// news, which go to the follower as well.
func (r *remote) start(follower follower) {
	r.follower = follower
	ctx := r.open
	var met sync.WaitGroup
	for _, side := range []struct {
		client  redis.UniversalClient
		breaker *breaker
		back    func(context.Context)
	}{
		{r.reads, r.reading, func(context.Context) { r.news.missedAll() }},
		{r.writes, r.writing, func(ctx context.Context) { r.replayErasures(ctx) }},
	} {
		met.Go(func() {
			if !meet(ctx, side.client) {
				side.breaker.leave("it does not answer at start")
			}
		})
		ping := func(ctx context.Context) error { return side.client.Ping(ctx).Err() }
		r.running.Go(func() { side.breaker.watch(ctx, ping, side.back) })
	}
	met.Wait()
	r.running.Go(func() { r.follow(ctx) })
	r.running.Go(func() { r.recover(ctx) })
}

// meet opens connections and tells whether Redis answers.
func meet(ctx context.Context, client redis.UniversalClient) bool {
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, probing{}, true), startWithin)
	defer cancel()
	var answered atomic.Bool
	var pings sync.WaitGroup
	for range ready {
		pings.Go(func() {
			if client.Ping(ctx).Err() == nil {
				answered.Store(true)
			}
		})
	}
	pings.Wait()
	return answered.Load()
}

func (r *remote) name() enrich.Tier { return enrich.RedisTier }

func (r *remote) recall(ctx context.Context, t tag) *entry {
	found, err := r.get(ctx, t)
	if err != nil {
		r.failed(err)
	}
	return found
}

// get reads what is stored about a subject, nil for nothing.
func (r *remote) get(ctx context.Context, t tag) (*entry, error) {
	asOf := r.news.now(t)
	command := r.read(ctx, t)
	if err := r.reads.send(ctx, command); err != nil {
		return nil, err
	}
	sealed, err := command.Bytes()
	if err != nil {
		return nil, err
	}
	return r.unseal(sealed, t, asOf), nil
}

// read is the command that reads an entry. A foreign value of any size costs no
// more than the largest of ours.
func (r *remote) read(ctx context.Context, t tag) *redis.StringCmd {
	return redis.NewStringCmd(ctx, "getrange", r.keys.entry(t), 0, maxSealed)
}

// unseal returns nil for nothing, for what is being erased, and for what is no
// entry of ours, which it counts.
func (r *remote) unseal(sealed []byte, t tag, asOf moment) *entry {
	if len(sealed) == 0 || r.recovery.erasing(t) {
		return nil
	}
	found, err := unseal(sealed, t, time.Now())
	if err != nil {
		r.stats.refuse(err)
		return nil
	}
	found.asOf = asOf
	return found
}

// failed counts a failure, if it is one. It logs at most one a minute, and none for which
// the breaker has spoken: a failing Redis must not fill the log.
func (r *remote) failed(err error) {
	if err == nil {
		return
	}
	r.stats.failed.Add(1)
	if errors.Is(err, errAway) || errors.Is(err, context.Canceled) {
		return
	}
	now := time.Now().Unix()
	if last := r.complained.Load(); now-last >= 60 && r.complained.CompareAndSwap(last, now) {
		r.log.Warn("redis fails", "error", err)
	}
}

// background runs what ends soon after the tier is closed. From then on nothing
// begins.
func (r *remote) background(run func()) {
	r.ending.Lock()
	defer r.ending.Unlock()
	if r.open.Err() == nil {
		r.running.Go(run)
	}
}

func (r *remote) close() (err error) {
	r.ended.Do(func() {
		r.ending.Lock()
		r.cancel()
		r.ending.Unlock()
		r.running.Wait()
		err = errors.Join(r.reads.Close(), r.writes.Close())
	})
	return err
}

// within calls with a deadline.
func within(ctx context.Context, limit time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return call(ctx)
}
