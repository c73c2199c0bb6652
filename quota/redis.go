package quota

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
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
	TLS TLSConfig `yaml:"tls"`
	// Prefix begins every key. Installations that share a Redis but no vendor
	// accounts differ in it. Default "enrichd:".
	Prefix string `yaml:"prefix"`
	// Lease is for how long ahead calls are booked. Longer asks Redis less
	// often; shorter loses less when a replica dies. Default 1s.
	Lease time.Duration `yaml:"lease"`
}

// TLSConfig says how connections to Redis are encrypted.
type TLSConfig struct {
	// Enabled turns encryption on. Default false.
	Enabled bool `yaml:"enabled"`
	// CAFile holds the certificates that may have signed the server's, in PEM.
	// Default: the system's.
	CAFile string `yaml:"ca_file"`
	// CertFile and KeyFile are the client's certificate and key in PEM, for a
	// server that asks for one. Default: none.
	CertFile string `yaml:"cert_file"`
	KeyFile  string `yaml:"key_file"`
	// ServerName is the name that the server's certificate must carry. Default:
	// the host of the address.
	ServerName string `yaml:"server_name"`
}

// enabled tells whether there is a Redis.
func (c RedisConfig) enabled() bool { return len(c.Addresses) > 0 }

func (c RedisConfig) withDefaults() RedisConfig {
	setDefault(&c.Prefix, "enrichd:")
	setDefault(&c.Lease, time.Second)
	return c
}

func (c RedisConfig) validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	for i, address := range c.Addresses {
		_, _, err := net.SplitHostPort(address)
		report(err != nil, "addresses[%d]: %q is not host:port", i, address)
	}
	report(!c.enabled() && (c.Cluster || c.Master != "" || c.TLS.Enabled), "addresses: are missing")
	report(c.Cluster && c.Master != "", "master: a cluster has no sentinels")
	report(c.DB < 0 || c.DB > 0 && (c.Cluster || c.Master == "" && len(c.Addresses) > 1), "db: %d is not a database there", c.DB)
	report(c.Lease < 0 || c.Lease > 10*time.Second || c.Lease > 0 && c.Lease < 50*time.Millisecond,
		"lease: %s is not between 50ms and 10s", c.Lease)
	report((c.TLS.CertFile == "") != (c.TLS.KeyFile == ""), "tls: cert_file and key_file need each other")
	report(!c.TLS.Enabled && (c.TLS.CAFile != "" || c.TLS.CertFile != "" || c.TLS.ServerName != ""), "tls.enabled: is false, the rest has no effect")
	return problems
}

// load reads the certificates.
func (c TLSConfig) load() (*tls.Config, error) {
	if !c.Enabled {
		return nil, nil
	}
	encryption := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, err
		}
		encryption.RootCAs = x509.NewCertPool()
		if !encryption.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca_file: %s holds no certificate", c.CAFile)
		}
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, err
		}
		encryption.Certificates = []tls.Certificate{pair}
	}
	return encryption, nil
}

// Dialer opens a connection; nil in Options: the usual one.
type Dialer func(ctx context.Context, network, address string) (net.Conn, error)

// redisPatience is how long one call to Redis may take. A lease is booked
// ahead, so nobody waits for it while all is well.
const redisPatience = 250 * time.Millisecond

// connect makes a client that never repeats a command by itself: one that was
// lost on the way may have been obeyed.
func (c RedisConfig) connect(dialer Dialer) (redis.UniversalClient, error) {
	encryption, err := c.TLS.load()
	if err != nil {
		return nil, err
	}
	quiet.Do(func() { redis.SetLogger(silence{}) })
	return redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                    c.Addresses,
		IsClusterMode:            c.Cluster,
		MasterName:               c.Master,
		Username:                 c.Username,
		Password:                 c.Password,
		SentinelUsername:         c.SentinelUsername,
		SentinelPassword:         c.SentinelPassword,
		DB:                       c.DB,
		TLSConfig:                encryption,
		Dialer:                   dialer,
		ContextTimeoutEnabled:    true,
		DialTimeout:              redisPatience,
		DialerRetries:            1,
		ReadTimeout:              redisPatience,
		WriteTimeout:             redisPatience,
		PoolTimeout:              redisPatience,
		PoolSize:                 8,
		PipelinePoolSize:         -1,
		MaxRetries:               -1,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}), nil
}

// quiet silences the client library, which writes a line for every failed dial;
// what matters is told by the source.
var quiet sync.Once

type silence struct{}

// Printf writes nothing.
func (silence) Printf(context.Context, string, ...any) {}

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
