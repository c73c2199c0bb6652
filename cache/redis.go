package cache

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/enrichd/enrichd/enrich"
)

//go:embed scripts/fill.lua
var fillSource string

//go:embed scripts/forget.lua
var forgetSource string

var (
	fillScript   = redis.NewScript(fillSource)
	forgetScript = redis.NewScript(forgetSource)
)

const (
	// startWithin bounds the first look at Redis.
	startWithin = 500 * time.Millisecond
	// maxTries bounds how often a write is joined anew because another came
	// first. Each time at least one write of the subject succeeded.
	maxTries = 16
	// erasureStays is how long an erasure refuses what was loaded before it.
	erasureStays = 7 * 24 * time.Hour
)

// patience is how long is waited for Redis.
type patience struct {
	recall time.Duration // what a recall may add to a request
	store  time.Duration // a write, for which the answer waits
}

var usualPatience = patience{recall: 50 * time.Millisecond, store: 250 * time.Millisecond}

// remote is the tier in Redis, shared by all replicas.
type remote struct {
	patience
	reads   redis.UniversalClient // retries once
	writes  redis.UniversalClient // never retries: a lost answer may hide a done write
	keys    keyspace
	breaker *breaker
	stats   *counters
	log     *slog.Logger
	cancel  context.CancelFunc
	running sync.WaitGroup
	ended   sync.Once
	// complained is when a failure was last logged, in Unix seconds.
	complained atomic.Int64
}

var _ tier = (*remote)(nil)

// newRemote makes the tier of Redis, which may be away, now or later. The
// config must be valid and have its defaults.
func newRemote(config RedisConfig, patience patience, stats *counters, log *slog.Logger) (*remote, error) {
	options, err := config.options(patience)
	if err != nil {
		return nil, err
	}
	quiet.Do(func() { redis.SetLogger(quietLogger{}) })
	r := &remote{
		patience: patience,
		keys:     keyspace{prefix: config.Prefix},
		breaker:  newBreaker(patience.recall*3/4, log),
		stats:    stats,
		log:      log,
	}
	options.MaxRetries = 1
	r.reads = redis.NewUniversalClient(&options)
	options.MaxRetries = -1
	options.MinIdleConns = 0
	r.writes = redis.NewUniversalClient(&options)
	r.reads.AddHook(r.breaker)
	r.writes.AddHook(r.breaker)

	ctx, cancel := context.WithCancel(context.Background())
	r.cancel = cancel
	ping := func(ctx context.Context) error { return r.reads.Ping(ctx).Err() }
	if err := within(ctx, startWithin, ping); err != nil {
		r.breaker.leave("it does not answer at start")
	}
	r.running.Go(func() { r.breaker.watch(ctx, ping) })
	return r, nil
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
		DialTimeout:              500 * time.Millisecond,
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

// quiet makes go-redis keep its own remarks to itself once: every failure
// reaches us as an error.
var quiet sync.Once

type quietLogger struct{}

func (quietLogger) Printf(context.Context, string, ...any) {}

func (r *remote) name() enrich.Tier { return enrich.RedisTier }

func (r *remote) recall(ctx context.Context, t tag) (found *entry) {
	ctx, cancel := context.WithTimeout(ctx, r.patience.recall)
	defer cancel()
	// A foreign value of any size costs no more than the largest of ours.
	sealed, err := r.reads.GetRange(ctx, r.keys.entry(t), 0, int64(maxSealed)).Bytes()
	switch {
	case err != nil:
		r.failed(err)
		return nil
	case len(sealed) == 0:
		return nil
	}
	return r.unseal(sealed, t)
}

// unseal returns nil for what is no entry of ours, and counts it.
func (r *remote) unseal(sealed []byte, t tag) *entry {
	found, err := unseal(sealed, t, time.Now())
	if err != nil {
		r.stats.refuse(err)
		return nil
	}
	return found
}

func (r *remote) remember(ctx context.Context, e *entry) *entry {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	stored, err := r.fill(ctx, e)
	if err != nil {
		r.failed(err)
		return e
	}
	return stored
}

// fill stores the entry joined with what is stored.
func (r *remote) fill(ctx context.Context, e *entry) (*entry, error) {
	expected, erased := e.version, int64(0)
	for range maxTries {
		reply, err := fillScript.Run(ctx, r.writes,
			[]string{r.keys.entry(e.tag), r.keys.erased(e.tag)},
			expected, erased, e.seal(), max(time.Until(e.until).Milliseconds(), 1), maxSealed+1).Slice()
		if err != nil {
			return nil, err
		}
		answer, err := readFilled(reply)
		if err != nil {
			return nil, err
		}
		if answer.stored {
			filled := *e
			filled.version = answer.version
			return &filled, nil
		}
		if answer.erased > erased {
			erased = answer.erased
			if e = e.since(answer.onOurClock(erased)); e == nil {
				return nil, nil
			}
		}
		expected = answer.version
		if len(answer.instead) == 0 {
			continue
		}
		if instead := r.unseal(answer.instead, e.tag); instead != nil {
			e = instead.join(e)
			if e == instead {
				return e, nil
			}
		}
	}
	return nil, errContended
}

// errContended is the error of a write before which others came too often.
var errContended = errors.New("cache: too many writes of one subject at once")

// filled is the answer of the fill script.
type filled struct {
	stored  bool
	version uint64
	now     int64 // Redis time in microseconds
	erased  int64 // Redis time in milliseconds; 0: never
	instead []byte
}

// errScript is the error of a script's answer that cannot be read.
var errScript = errors.New("cache: unreadable answer of a script")

func readFilled(reply []any) (filled, error) {
	if len(reply) != 5 {
		return filled{}, errScript
	}
	numbers := [4]int64{}
	for i := range numbers {
		number, ok := reply[i].(int64)
		if !ok {
			return filled{}, errScript
		}
		numbers[i] = number
	}
	instead, ok := reply[4].(string)
	if !ok {
		return filled{}, errScript
	}
	return filled{numbers[0] == 1, uint64(numbers[1]), numbers[2], numbers[3], []byte(instead)}, nil
}

// onOurClock translates a Redis time in milliseconds. Taken after the answer
// came, it errs on the later side, so that no load from before an erasure
// passes for one from after.
func (f filled) onOurClock(ms int64) time.Time {
	return time.Now().Add(time.Duration(ms*1000-f.now) * time.Microsecond)
}

func (r *remote) forget(ctx context.Context, t tag) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.store)
	defer cancel()
	keys := append([]string{r.keys.erased(t)}, r.keys.forgotten(t)...)
	if err := forgetScript.Run(ctx, r.writes, keys, erasureStays.Milliseconds()).Err(); err != nil {
		r.failed(err)
		return fmt.Errorf("cache: redis did not erase: %w", err)
	}
	return nil
}

// failed counts a failure. It logs at most one a minute, and none for which
// the breaker has spoken: a failing Redis must not fill the log.
func (r *remote) failed(err error) {
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
