package quota

import (
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

// RedisConfig says how the Redis is reached in which replicas share quotas. The
// zero RedisConfig is none. It should be one that evicts nothing: what is lost
// there is rebuilt on the safe side, which wastes quota.
type RedisConfig struct {
	// Addresses of Redis as host:port: one of a server, several of a cluster's
	// nodes, or those of the sentinels when Master is set. Default: none, and
	// every process keeps its quotas alone.
	Addresses []string `yaml:"addresses"`
	// Cluster says that a single address leads to a cluster. Default false.
	Cluster bool `yaml:"cluster"`
	// Master is the name by which the sentinels know the server. Default: no
	// sentinels.
	Master string `yaml:"master"`
	// Username and Password of the ACL user. Default: none.
	Username string `yaml:"username"`
	Password string `yaml:"password" secret:"true"`
	// SentinelUsername and SentinelPassword of the sentinels. Default: none.
	SentinelUsername string `yaml:"sentinel_username"`
	SentinelPassword string `yaml:"sentinel_password" secret:"true"`
	// DB is the number of the database; a cluster has only 0. Default 0.
	DB int `yaml:"db"`
	// TLS encrypts the connections. Default: off.
	TLS redisconn.TLS `yaml:"tls"`
	// Prefix begins every key. Installations that share a Redis but no vendor
	// accounts differ in it. Default "enrichd:".
	Prefix string `yaml:"prefix"`
	// Lease is for how long ahead calls are booked. Longer asks Redis less
	// often; shorter loses less when a replica dies. Default 1s.
	Lease time.Duration `yaml:"lease"`
}

// enabled tells whether there is a Redis.
func (c RedisConfig) enabled() bool { return len(c.Addresses) > 0 }

func (c RedisConfig) withDefaults() RedisConfig {
	c.Prefix = c.conn().WithDefaults().Prefix
	setDefault(&c.Lease, time.Second)
	return c
}

// conn is the part of c that says how Redis is reached.
func (c RedisConfig) conn() redisconn.Config {
	return redisconn.Config{
		Addresses:        c.Addresses,
		Cluster:          c.Cluster,
		Master:           c.Master,
		Username:         c.Username,
		Password:         c.Password,
		SentinelUsername: c.SentinelUsername,
		SentinelPassword: c.SentinelPassword,
		DB:               c.DB,
		TLS:              c.TLS,
		Prefix:           c.Prefix,
	}
}

func (c RedisConfig) validate() (problems []error) {
	problems = c.conn().Validate()
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
	return c.conn().Client(redisconn.Options{Patience: redisPatience, PoolSize: 8, Dialer: dialer})
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
