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
	// RefreshAhead is the last part of a value's freshness in which it is asked
	// for again in the background, in the bulk lane, if the subject is asked
	// about more than once in it. Larger has fewer callers see stale values and
	// buys more often. From 0 to 0.5; default 0.1; negative: never.
	RefreshAhead float64 `yaml:"refresh_ahead"`
	// RefreshPause is how long nothing is asked for again in the background
	// about a subject whose refresh has failed; its stale values answer. Shorter
	// asks failing vendors more often. Default 30 s.
	RefreshPause time.Duration `yaml:"refresh_pause"`
	// Freshness says how long facts count.
	Freshness Freshness `yaml:"freshness"`
}

// DefaultRetryBudget is all the time an answer may take by default.
const DefaultRetryBudget = 45 * time.Second

const (
	defaultBatchWidth   = 64
	maxBatchWidth       = 1000
	defaultRefreshAhead = 0.1
	maxRefreshAhead     = 0.5
	defaultRefreshPause = 30 * time.Second
)

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.RetryBudget == 0 {
		c.RetryBudget = DefaultRetryBudget
	}
	if c.BatchWidth == 0 {
		c.BatchWidth = defaultBatchWidth
	}
	if c.RefreshAhead == 0 {
		c.RefreshAhead = defaultRefreshAhead
	}
	if c.RefreshPause == 0 {
		c.RefreshPause = defaultRefreshPause
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
	if c.RefreshAhead > maxRefreshAhead {
		problems = append(problems, fmt.Errorf("refresh_ahead: %g is more than %g", c.RefreshAhead, maxRefreshAhead))
	}
	if c.RefreshPause < 0 {
		problems = append(problems, fmt.Errorf("refresh_pause: %s is negative", c.RefreshPause))
	}
	for _, problem := range c.Freshness.problems() {
		problems = append(problems, fmt.Errorf("freshness.%w", problem))
	}
	return problems
}
