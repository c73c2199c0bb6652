package quota

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/enrichd/enrichd/redisconn"
)

// RedisConfig says which Redis it is in which replicas share quotas. The zero
// RedisConfig is none, and every process keeps its quotas alone. It should be one
// that evicts nothing: what is lost there is rebuilt on the safe side, which
// wastes quota.
type RedisConfig struct {
	redisconn.Config
	// Lease is for how long ahead calls are booked. Longer asks Redis less
	// often; shorter loses less when a replica dies. Default 1s.
	Lease time.Duration `yaml:"lease"`
}

func (c RedisConfig) withDefaults() RedisConfig {
	c.Config = c.Config.WithDefaults()
	c.Lease = cmp.Or(c.Lease, time.Second)
	return c
}

func (c RedisConfig) validate() (problems []error) {
	problems = c.Config.Validate()
	if c.Lease < 0 || c.Lease > 10*time.Second || c.Lease > 0 && c.Lease < 50*time.Millisecond {
		problems = append(problems, fmt.Errorf("lease: %s is not between 50ms and 10s", c.Lease))
	}
	return problems
}

// Dialer opens a connection; nil in Options: the usual one.
type Dialer = redisconn.Dialer

// redisPatience is how long one call to Redis may take. A lease is booked
// ahead, so nobody waits for it while all is well.
const redisPatience = 250 * time.Millisecond

// connect makes a client that never repeats a command by itself: one that was
// lost on the way may have been obeyed.
func (c RedisConfig) connect(dialer Dialer) (redis.UniversalClient, error) {
	return c.Client(redisconn.Options{Patience: redisPatience, PoolSize: 8, Dialer: dialer})
}

// warnOfEviction warns of a server that may forget quotas when its memory is
// full.
func warnOfEviction(ctx context.Context, client redis.UniversalClient, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(ctx, redisPatience)
	defer cancel()
	about, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return // no right to ask, or away, which is told elsewhere
	}
	for line := range strings.Lines(about) {
		if policy, ok := strings.CutPrefix(strings.TrimSpace(line), "maxmemory_policy:"); ok && policy != "noeviction" {
			log.Warn("quota: the Redis may evict quotas when its memory is full; they are rebuilt on the safe side, which wastes calls", "maxmemory_policy", policy)
		}
	}
}

//go:embed scripts/state.lua
var stateSource string

//go:embed scripts/bucket.lua
var bucketSource string

//go:embed scripts/fixed.lua
var fixedSource string

//go:embed scripts/sliding.lua
var slidingSource string

//go:embed scripts/slots.lua
var slotsSource string

//go:embed scripts/book.lua
var bookSource string

// bookScript answers an order. A server that lost the script gets it again.
var bookScript = redis.NewScript(stateSource + bucketSource + fixedSource + slidingSource + slotsSource + bookSource)

//go:embed scripts/purse.lua
var purseSource string

// purseScript answers a withdrawal.
var purseScript = redis.NewScript(purseSource)

// errUnreadable is an answer that no version of our scripts gives.
var errUnreadable = errors.New("quota: Redis gave an answer that cannot be read")
