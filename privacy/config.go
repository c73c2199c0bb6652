package privacy

import (
	"cmp"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/redisconn"
)

// Config is how subjects' rights are kept. The zero Config keeps the suppression
// list in the memory of one process and writes no audit log.
type Config struct {
	// Pepper is the secret behind the tags of subjects, so that no address can
	// be tried against the list, the log or Redis. All replicas share it.
	// Changing it makes the suppression list unreadable, and the service refuses
	// to start with it then. Required with a file or Redis, at least 16 bytes.
	Pepper string `yaml:"pepper" secret:"true"`
	// Redis shares the suppression list among replicas. It should be one that
	// evicts nothing and persists. Default none.
	Redis redisconn.Config `yaml:"redis"`
	// Suppression is the list of subjects that must not be looked up.
	Suppression SuppressionConfig `yaml:"suppression"`
	// Audit is the log of who asked about whom.
	Audit AuditConfig `yaml:"audit"`
}

// SuppressionConfig says where the list is kept, beside Redis.
type SuppressionConfig struct {
	// File keeps the list over restarts; each replica has its own, in a folder
	// that is there. Default none: without Redis either, a restart forgets who
	// must not be looked up.
	File string `yaml:"file"`
	// MaxEntries bounds the list in memory, about 60 bytes each; an address that
	// has aliases takes two. What would not fit is refused, at start too.
	// Default 1,000,000.
	MaxEntries int `yaml:"max_entries"`
}

// AuditConfig says where the audit log is kept and for how long.
type AuditConfig struct {
	// File is the log; older parts lie beside it, with the time of their end in
	// the name. Each replica has its own. Default none, and nothing is logged.
	File string `yaml:"file"`
	// MaxBytes ends a part of the log that has grown so large. Default 100 MiB.
	MaxBytes int64 `yaml:"max_bytes"`
	// MaxAge ends a part of the log that began so long ago. Default 24h.
	MaxAge time.Duration `yaml:"max_age"`
	// Keep is how many older parts are kept; the oldest go first. Default 400.
	Keep int `yaml:"keep"`
	// KeepFor is how long an older part is kept after its end. Default 9600h
	// (400 days).
	KeepFor time.Duration `yaml:"keep_for"`
	// Queue is how many entries may wait for the disk; further ones are dropped
	// and counted. Default 8192.
	Queue int `yaml:"queue"`
}

const minPepper = 16

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	c.Redis = c.Redis.WithDefaults()
	c.Suppression.MaxEntries = cmp.Or(c.Suppression.MaxEntries, 1_000_000)
	c.Audit.MaxBytes = cmp.Or(c.Audit.MaxBytes, 100<<20)
	c.Audit.MaxAge = cmp.Or(c.Audit.MaxAge, 24*time.Hour)
	c.Audit.Keep = cmp.Or(c.Audit.Keep, 400)
	c.Audit.KeepFor = cmp.Or(c.Audit.KeepFor, 400*24*time.Hour)
	c.Audit.Queue = cmp.Or(c.Audit.Queue, 8192)
	return c
}

// Validate reports every field that cannot be obeyed. Files are opened by
// NewSuppressions and NewAudit, not here.
func (c Config) Validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	needed := c.Redis.Enabled() || c.Suppression.File != "" || c.Audit.File != ""
	report((needed || c.Pepper != "") && len(c.Pepper) < minPepper,
		"pepper: needs at least %d bytes, the same for all replicas and for good", minPepper)
	for _, problem := range c.Redis.Validate() {
		report(true, "redis.%w", problem)
	}
	report(c.Suppression.MaxEntries < 0, "suppression.max_entries: %d is negative", c.Suppression.MaxEntries)
	report(c.Audit.MaxBytes < 0 || c.Audit.MaxBytes > 0 && c.Audit.MaxBytes < 1<<10, "audit.max_bytes: %d is less than 1024", c.Audit.MaxBytes)
	report(c.Audit.MaxAge < 0 || c.Audit.MaxAge > 0 && c.Audit.MaxAge < time.Minute, "audit.max_age: %s is less than a minute", c.Audit.MaxAge)
	report(c.Audit.Keep < 0, "audit.keep: %d is negative", c.Audit.Keep)
	report(c.Audit.KeepFor < 0, "audit.keep_for: %s is negative", c.Audit.KeepFor)
	report(c.Audit.Queue < 0, "audit.queue: %d is negative", c.Audit.Queue)
	report(c.Audit.File != "" && c.Audit.File == c.Suppression.File, "audit.file: is that of suppression too")
	return problems
}
