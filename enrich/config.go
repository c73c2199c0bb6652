package enrich

import (
	"fmt"
	"time"
)

// Config is how answers are made. The zero Config has the defaults.
type Config struct {
	// RetryBudget is all the time that an answer may take when the request sets
	// none: recalling, waiting for tokens, calls and their repeats. Shorter
	// answers sooner and with less. Default 45 s.
	RetryBudget time.Duration `yaml:"retry_budget"`
	// BatchWidth is how many requests of a batch may wait for providers at once.
	// More finish a batch sooner where vendors allow it, and take more memory
	// and more of the places in the vendors' queues. Default 64.
	BatchWidth int `yaml:"batch_width"`
	// Freshness says how long facts count.
	Freshness Freshness `yaml:"freshness"`
}

// DefaultRetryBudget is all the time an answer may take by default.
const DefaultRetryBudget = 45 * time.Second

const (
	defaultBatchWidth = 64
	maxBatchWidth     = 1000
)

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.RetryBudget == 0 {
		c.RetryBudget = DefaultRetryBudget
	}
	if c.BatchWidth == 0 {
		c.BatchWidth = defaultBatchWidth
	}
	c.Freshness = c.Freshness.WithDefaults()
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	if c.RetryBudget < 0 || c.RetryBudget > 10*time.Minute {
		problems = append(problems, fmt.Errorf("retry_budget: %s is not between 0 and 10 minutes", c.RetryBudget))
	}
	if c.BatchWidth < 0 || c.BatchWidth > maxBatchWidth {
		problems = append(problems, fmt.Errorf("batch_width: %d is not between 1 and %d", c.BatchWidth, maxBatchWidth))
	}
	for _, problem := range c.Freshness.problems() {
		problems = append(problems, fmt.Errorf("freshness.%w", problem))
	}
	return problems
}
