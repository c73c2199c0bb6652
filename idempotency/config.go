package idempotency

import (
	"fmt"
	"time"

	"github.com/enrichd/enrichd/redisconn"
)

// Config says where answers are kept. The zero Config keeps them in the memory
// of one process.
type Config struct {
	// KeepFor is how long an answer is repeated for its key. Vendors are asked
	// again after it. Default 24h.
	KeepFor time.Duration `yaml:"keep_for"`
	// MaxAnswerBytes is the largest answer that is kept. A larger one is given
	// once, and a repeated request is worked again. Default 4 MiB.
	MaxAnswerBytes int `yaml:"max_answer_bytes"`
	// MemoryBytes bounds what this process keeps without Redis, or while it is
	// away; the oldest answers go first. Default 32 MiB.
	MemoryBytes int `yaml:"memory_bytes"`
	// Redis shares answers among replicas, encrypted. Default none: a repeated
	// request that reaches another replica, or comes after a restart, is worked
	// again.
	Redis redisconn.Config `yaml:"redis"`
	// Pepper is the secret behind the keys in Redis and behind the encryption.
	// All replicas share it; another one makes all that is kept unreachable.
	// Required with Redis, at least 16 bytes.
	Pepper string `yaml:"pepper" secret:"true"`
}

const minPepper = 16

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.KeepFor == 0 {
		c.KeepFor = 24 * time.Hour
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = 4 << 20
	}
	if c.MemoryBytes == 0 {
		c.MemoryBytes = 32 << 20
	}
	c.Redis = c.Redis.WithDefaults()
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	defaulted := c.WithDefaults()
	report(defaulted.KeepFor < time.Minute || defaulted.KeepFor > 30*24*time.Hour, "keep_for: %s is not from a minute to 30 days", c.KeepFor)
	report(defaulted.MaxAnswerBytes < 1<<10, "max_answer_bytes: %d is less than 1024", c.MaxAnswerBytes)
	report(defaulted.MemoryBytes < defaulted.MaxAnswerBytes, "memory_bytes: %d is less than max_answer_bytes, %d", defaulted.MemoryBytes, defaulted.MaxAnswerBytes)
	for _, problem := range c.Redis.Validate() {
		report(true, "redis.%w", problem)
	}
	report((c.Redis.Enabled() || c.Pepper != "") && len(c.Pepper) < minPepper, "pepper: needs at least %d bytes, the same for all replicas", minPepper)
	return problems
}
