package cache

import (
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
)

// Config says what is kept and where. The zero Config keeps records in memory
// alone.
type Config struct {
	// MemoryBytes bounds what records take in the process. Less costs Redis
	// trips, or vendor calls where there is no Redis. Default 128 MiB;
	// negative: nothing is kept in memory.
	MemoryBytes int64 `yaml:"memory_bytes"`
	// Jitter is the share of its life by which a record may expire early, so
	// that what was bought together does not expire together. It is the same
	// for a subject everywhere. Default 0.1; negative: none.
	Jitter float64 `yaml:"jitter"`
	// Redis keeps records for all replicas and across restarts. Default: none.
	Redis RedisConfig `yaml:"redis"`
}

// RedisConfig says how Redis is reached. The zero RedisConfig is no Redis.
type RedisConfig struct {
	// Addresses of Redis as host:port: one of a server, several of a cluster's
	// nodes, or those of the sentinels when Master is set. Default: none, and
	// Redis is not used.
	Addresses []string `yaml:"addresses"`
	// Cluster says that a single address leads to a cluster. Several addresses
	// are a cluster anyway. Default false.
	Cluster bool `yaml:"cluster"`
	// Master is the name by which the sentinels at Addresses know the server.
	// Default: no sentinels.
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
	// Prefix begins every key. Installations that share a Redis but no records
	// differ in it. Default "enrichd:".
	Prefix string `yaml:"prefix"`
	// Pepper is the secret that turns subjects into keys, so that no address
	// can be tried against what lies in Redis. All replicas share it; another
	// pepper makes all that is stored unreachable. Required with Redis, at
	// least 16 bytes.
	Pepper string `yaml:"pepper" secret:"true"`
	// ErasuresFile keeps the erasures that Redis has yet to be told, while it is
	// away, over a restart of this replica. Each replica has its own. Default:
	// none, and a restart loses those that Forget has reported as not done.
	ErasuresFile string `yaml:"erasures_file"`
	// PoolSize is the most connections of a replica to a server for reading,
	// and for writing. Fewer make bursts queue, and after 50 ms go without.
	// Default 64.
	PoolSize int `yaml:"pool_size"`
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

const (
	defaultMemoryBytes = 128 << 20
	defaultJitter      = 0.1
	defaultPrefix      = "enrichd:"
	defaultPoolSize    = 64

	// minMemoryBytes is enough for the largest record several times over.
	minMemoryBytes = 2 << 20
	minPepper      = 16
)

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.MemoryBytes == 0 {
		c.MemoryBytes = defaultMemoryBytes
	}
	if c.Jitter == 0 {
		c.Jitter = defaultJitter
	}
	if c.Redis.Prefix == "" {
		c.Redis.Prefix = defaultPrefix
	}
	if c.Redis.PoolSize == 0 {
		c.Redis.PoolSize = defaultPoolSize
	}
	return c
}

// Validate reports every field that cannot be obeyed, or that contradicts
// another, by its name.
func (c Config) Validate() (problems []error) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.MemoryBytes > 0 && c.MemoryBytes < minMemoryBytes {
		complain("memory_bytes: %d is too little: at least %d, or negative for none", c.MemoryBytes, minMemoryBytes)
	}
	if c.Jitter >= 1 {
		complain("jitter: %g must be below 1", c.Jitter)
	}
	for _, problem := range c.Redis.validate() {
		complain("redis.%w", problem)
	}
	return problems
}

func (c RedisConfig) validate() (problems []error) {
	complain := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if len(c.Addresses) == 0 {
		if c.Cluster || c.Master != "" || c.Username != "" || c.Password != "" || c.ErasuresFile != "" || c.TLS.Enabled {
			complain("addresses: there are none, so the other fields do nothing")
		}
		return problems
	}
	if len(c.Pepper) < minPepper {
		complain("pepper: needs at least %d bytes, the same for all replicas: without it keys could be traced to addresses, and would be lost with every restart", minPepper)
	}
	clustered := c.Cluster || len(c.Addresses) > 1 && c.Master == ""
	if c.Cluster && c.Master != "" {
		complain("master: a cluster has no sentinels")
	}
	if clustered && c.DB != 0 {
		complain("db: %d: a cluster has only database 0", c.DB)
	}
	if c.DB < 0 {
		complain("db: %d is negative", c.DB)
	}
	if c.Username != "" && c.Password == "" {
		complain("password: a username needs one")
	}
	if _, err := journal(c.ErasuresFile).load(); err != nil {
		complain("erasures_file: %w", err)
	}
	if c.PoolSize < 0 {
		complain("pool_size: %d is negative", c.PoolSize)
	}
	if _, err := c.TLS.load(); err != nil {
		complain("tls.%w", err)
	}
	return problems
}

// pepper returns the configured pepper, or one for this process alone, which
// is good enough for its own memory.
func (c Config) pepper() string {
	if c.Redis.Pepper != "" {
		return c.Redis.Pepper
	}
	return rand.Text()
}

// load reads the files; nil without TLS.
func (c TLSConfig) load() (*tls.Config, error) {
	if !c.Enabled {
		if c != (TLSConfig{}) {
			return nil, errors.New("enabled: is false, so the other fields do nothing")
		}
		return nil, nil
	}
	loaded := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	if c.CAFile != "" {
		pem, err := os.ReadFile(c.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		loaded.RootCAs = x509.NewCertPool()
		if !loaded.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("ca_file: holds no certificate")
		}
	}
	if (c.CertFile == "") != (c.KeyFile == "") {
		return nil, errors.New("cert_file: certificate and key go together")
	}
	if c.CertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.CertFile, c.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("cert_file: %w", err)
		}
		loaded.Certificates = []tls.Certificate{pair}
	}
	return loaded, nil
}
