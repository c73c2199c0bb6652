package cache

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/enrichd/enrichd/enrich"
)

// startWithin bounds the first look at Redis.
const startWithin = 500 * time.Millisecond

// patience is how long is waited for Redis.
type patience struct {
	recall time.Duration // what a recall may add to a request
	store  time.Duration // a write, for which the answer waits
}

var usualPatience = patience{recall: 50 * time.Millisecond, store: 250 * time.Millisecond}

// remote is the tier in Redis, shared by all replicas.
type remote struct {
	patience
	reads    redis.UniversalClient // retries once
	writes   redis.UniversalClient // never retries: a lost answer may hide a done write
	keys     keyspace
	breaker  *breaker
	clock    clock
	news     *news
	follower follower
	barriers *barriers
	leases   leases
	recovery *recovery
	stats    *counters
	log      *slog.Logger
	cancel   context.CancelFunc // ends what runs in the background
	running  sync.WaitGroup
	ended    sync.Once
	closing  chan struct{} // closed when leases are not renewed any more
	// complained is when a failure was last logged, in Unix seconds.
	complained atomic.Int64
}

var _ tier = (*remote)(nil)

// newRemote makes the tier of Redis, which may be away, now or later. The
// config must be valid and have its defaults. Start lets it work.
func newRemote(config RedisConfig, patience patience, barriers *barriers, stats *counters, log *slog.Logger) (*remote, error) {
	options, err := config.options(patience)
	if err != nil {
		return nil, err
	}
	recovery, err := newRecovery(journal(config.ErasuresFile))
	if err != nil {
		return nil, err
	}
	quiet.Do(func() { redis.SetLogger(quietLogger{}) })
	r := &remote{
		patience: patience,
		keys:     keyspace{prefix: config.Prefix, db: config.DB},
		breaker:  newBreaker(patience.recall*3/4, log),
		news:     newNews(),
		follower: none{},
		barriers: barriers,
		recovery: recovery,
		stats:    stats,
		log:      log,
		cancel:   func() {},
		closing:  make(chan struct{}),
	}
	options.MaxRetries = 1
	r.reads = dial(options)
	options.MaxRetries = -1
	options.MinIdleConns = 0
	r.writes = dial(options)
	r.reads.AddHook(r.breaker)
	r.writes.AddHook(r.breaker)
	return r, nil
}

// start looks for Redis and begins to follow the news, which go to the
// follower as well.
func (r *remote) start(follower follower) {
	r.follower = follower
	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	ping := func(ctx context.Context) error { return r.reads.Ping(ctx).Err() }
	if err := within(ctx, startWithin, ping); err != nil {
		r.breaker.leave("it does not answer at start")
	}
	r.running.Go(func() { r.breaker.watch(ctx, ping, r.back) })
	r.running.Go(func() { r.follow(ctx) })
	r.running.Go(func() { r.recover(ctx) })
}

// back is called when Redis answers again, before requests use it.
func (r *remote) back(ctx context.Context) {
	r.news.missedAll()
	r.replayErasures(ctx)
}

// options are those for reading. Every call has a deadline of its own, so the
// timeouts here only end what that does not reach.
func (c RedisConfig) options(patience patience) (redis.UniversalOptions, error) {
	encryption, err := c.TLS.load()
	return redis.UniversalOptions{
		Addrs:                    c.Addresses,
		IsClusterMode:            c.Cluster,
		MasterName:               c.Master,
		Username:                 c.Username,
		Password:                 c.Password,
		SentinelUsername:         c.SentinelUsername,
		SentinelPassword:         c.SentinelPassword,
		DB:                       c.DB,
		TLSConfig:                encryption,
		ContextTimeoutEnabled:    true,
		DialTimeout:              2 * patience.store,
		DialerRetries:            1,
		ReadTimeout:              patience.store,
		WriteTimeout:             patience.store,
		PoolTimeout:              patience.recall,
		PoolSize:                 c.PoolSize,
		MinIdleConns:             min(8, c.PoolSize),
		ConnMaxIdleTime:          5 * time.Minute,
		ConnMaxLifetime:          30 * time.Minute,
		ConnMaxLifetimeJitter:    5 * time.Minute,
		PipelinePoolSize:         -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}, err
}

// reloadClusterEvery is how often the nodes of a cluster are asked which of
// them serves what. A node that is gone says nothing, so this is also how soon
// the one that took over is found.
const reloadClusterEvery = 5 * time.Second

// dial makes a client as the universal one does, of a server, of what sentinels
// watch, or of a cluster.
func dial(options redis.UniversalOptions) redis.UniversalClient {
	if options.MasterName != "" || len(options.Addrs) == 1 && !options.IsClusterMode {
		return redis.NewUniversalClient(&options)
	}
	cluster := options.Cluster()
	cluster.ClusterStateReloadInterval = reloadClusterEvery
	return redis.NewClusterClient(cluster)
}

// quiet makes go-redis keep its own remarks to itself once: every failure
// reaches us as an error.
var quiet sync.Once

type quietLogger struct{}

func (quietLogger) Printf(context.Context, string, ...any) {}

func (r *remote) name() enrich.Tier { return enrich.RedisTier }

func (r *remote) recall(ctx context.Context, t tag) *entry {
	ctx, cancel := context.WithTimeout(ctx, r.patience.recall)
	defer cancel()
	found, err := r.get(ctx, t)
	if err != nil {
		r.failed(err)
	}
	return found
}

// get reads what is stored about a subject, nil for nothing.
func (r *remote) get(ctx context.Context, t tag) (*entry, error) {
	asOf := r.news.now(t)
	// A foreign value of any size costs no more than the largest of ours.
	sealed, err := r.reads.GetRange(ctx, r.keys.entry(t), 0, int64(maxSealed)).Bytes()
	if err != nil {
		return nil, err
	}
	return r.unseal(sealed, t, asOf), nil
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

func (r *remote) close() (err error) {
	r.ended.Do(func() {
		close(r.closing)
		r.cancel()
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
