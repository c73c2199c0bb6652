package cache

import (
	"crypto/rand"
	"fmt"

	"github.com/enrichd/enrichd/redisconn"
)

// Config says what is kept and where. The zero Config keeps records in memory
// alone.
type Config struct {
	// MemoryBytes bounds what the cache takes in the process: 45 % of it are
	// records and answers, the rest is for garbage that has yet to be collected.
	// Less costs Redis trips, or vendor calls where there is no Redis. Default
	// 256 MiB; negative: nothing is kept in memory.
	MemoryBytes int64 `yaml:"memory_bytes"`
	// Jitter is the share of its life by which a record may expire early, so
	// that what was bought together does not expire together. It is the same
	// for a subject everywhere. Default 0.1; negative: none.
	Jitter float64 `yaml:"jitter"`
	// Redis keeps records for all replicas and across restarts. Default: none.
	Redis RedisConfig `yaml:"redis"`
}

// RedisConfig says which Redis keeps records, and how. The zero RedisConfig is
// none.
type RedisConfig struct {
	redisconn.Config
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

const (
	defaultMemoryBytes = 256 << 20
	defaultJitter      = 0.1
	defaultPoolSize    = 64

	// minMemoryBytes is enough for the largest record.
	minMemoryBytes = 2 << 20
	// mostMemoryBytes keeps a slip of the pen from taking all memory at the start.
	mostMemoryBytes = 1 << 38
	minPepper       = 16
)

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.MemoryBytes == 0 {
		c.MemoryBytes = defaultMemoryBytes
	}
	if c.Jitter == 0 {
		c.Jitter = defaultJitter
	}
	c.Redis.Config = c.Redis.Config.WithDefaults()
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
	if c.MemoryBytes > mostMemoryBytes {
		complain("memory_bytes: %d is too much: at most %d", c.MemoryBytes, int64(mostMemoryBytes))
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
	problems = c.Config.Validate()
	if !c.Enabled() {
		if c.ErasuresFile != "" && len(problems) == 0 {
			complain("addresses: there are none, so the other fields do nothing")
		}
		return problems
	}
	if len(c.Pepper) < minPepper {
		complain("pepper: needs at least %d bytes, the same for all replicas: without it keys could be traced to addresses, and would be lost with every restart", minPepper)
	}
	if _, err := journal(c.ErasuresFile).load(); err != nil {
		complain("erasures_file: %w", err)
	}
	if c.PoolSize < 0 {
		complain("pool_size: %d is negative", c.PoolSize)
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
