package redisconn

import (
	"cmp"
	"context"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// Options are what the part of the program that uses a client decides.
type Options struct {
	// Patience ends dialling, waiting for a connection, and every read and
	// write. A call's own deadline ends it sooner.
	Patience time.Duration
	// PoolPatience ends waiting for a connection; 0: as Patience says.
	PoolPatience time.Duration
	// PoolSize is the most connections to a server, MinIdle how many are kept
	// open.
	PoolSize int
	MinIdle  int
	// Repeats is how often a command is sent again whose answer did not come.
	// Only what may be done twice bears it. Default 0.
	Repeats int
	// Dialer opens connections; nil: over the network.
	Dialer Dialer
}

// Dialer opens a connection.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// reloadClusterEvery is how soon a node is found that took over from another.
const reloadClusterEvery = 5 * time.Second

// Client makes a client of a server, of what sentinels watch, or of a cluster.
// It connects when it is first used, and repeats no command unless told to: one
// whose answer was lost may have been obeyed. The error is one of the TLS files.
func (c Config) Client(o Options) (redis.UniversalClient, error) {
	encryption, err := c.TLS.load()
	if err != nil {
		return nil, err
	}
	quiet.Do(func() { redis.SetLogger(silence{}) })
	options := redis.UniversalOptions{
		Addrs:                    c.Addresses,
		IsClusterMode:            c.Cluster,
		MasterName:               c.Master,
		Username:                 c.Username,
		Password:                 c.Password,
		SentinelUsername:         c.SentinelUsername,
		SentinelPassword:         c.SentinelPassword,
		DB:                       c.DB,
		TLSConfig:                encryption,
		Dialer:                   o.Dialer,
		ContextTimeoutEnabled:    true,
		DialTimeout:              o.Patience,
		DialerRetries:            1,
		ReadTimeout:              o.Patience,
		WriteTimeout:             o.Patience,
		PoolTimeout:              cmp.Or(o.PoolPatience, o.Patience),
		PoolSize:                 o.PoolSize,
		MinIdleConns:             o.MinIdle,
		MaxRetries:               cmp.Or(o.Repeats, -1),
		ConnMaxIdleTime:          5 * time.Minute,
		ConnMaxLifetime:          30 * time.Minute,
		ConnMaxLifetimeJitter:    5 * time.Minute,
		PipelinePoolSize:         -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	if !c.clustered() {
		return redis.NewUniversalClient(&options), nil
	}
	cluster := options.Cluster()
	cluster.ClusterStateReloadInterval = reloadClusterEvery
	return redis.NewClusterClient(cluster), nil
}

// quiet makes go-redis keep its own remarks to itself: every failure reaches us
// as an error.
var quiet sync.Once

type silence struct{}

// Printf writes nothing.
func (silence) Printf(context.Context, string, ...any) {}
