package router

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Order is how the plan orders providers that can all be asked now.
type Order string

// The orders.
const (
	Listed   Order = "listed"   // as configured: primary, secondary, …
	Cheapest Order = "cheapest" // by the expected price of a wanted fact
)

func (o Order) known() bool { return o == Listed || o == Cheapest }

// Config is how the router behaves. The zero Config has the defaults.
type Config struct {
	// Order in which providers are asked. "listed" is predictable; "cheapest"
	// asks first whoever is expected to cost least per fact found, learned from
	// what each found and charged. Default listed.
	Order Order `yaml:"order"`
	// MinConfidence is the least confidence, from 0 to 1, at which a fact counts
	// as found. Providers that promise less for an attribute are not asked for
	// it; higher costs more calls. Default 0: any.
	MinConfidence float64 `yaml:"min_confidence"`
	// Attempts is how often one request may call a provider that failed or
	// refused, the first call included; polls and further steps are not
	// counted. More helps in a short trouble and costs time in a long one.
	// Default 3.
	Attempts int `yaml:"attempts"`
	// AttemptTimeout is the longest one call may take at a provider that sets no
	// timeout of its own. Default 10s.
	AttemptTimeout time.Duration `yaml:"attempt_timeout"`
	// MinAttempt is the least time worth a call: none begins with less left
	// before the deadline. Default 100ms.
	MinAttempt time.Duration `yaml:"min_attempt"`
	// Keep is the time of the budget that a provider must leave to those that
	// may be asked after it, at most half of what is left. Shorter gives a slow
	// primary more time, longer makes a hung one less costly. Default 10s.
	Keep time.Duration `yaml:"keep"`
	// Patience is how long a request waits for one provider in all, for tokens,
	// because it said so and between repeats, while another could be asked at
	// once.
	Patience Patience `yaml:"patience"`
	// Backoff is how long to wait before a call is repeated.
	Backoff Backoff `yaml:"backoff"`
	// RetryRatio is how many repeats of failed calls a provider gets per first
	// call, over time, with a few to begin with. Higher finds more in a short
	// trouble, and multiplies the load of a provider in a long one. Default 0.1;
	// negative: none.
	RetryRatio float64 `yaml:"retry_ratio"`
	// Pause is how long a provider is left alone that refused a call without
	// saying for how long, and whose definition does not say either. Default 5s.
	Pause time.Duration `yaml:"pause"`
	// BlockPause is the same for a penalty period. Default 1m.
	BlockPause time.Duration `yaml:"block_pause"`
	// PollEvery is how long to wait between polls for a pending job when
	// neither answer nor definition says. Default 3s.
	PollEvery time.Duration `yaml:"poll_every"`
	// RememberRefusals is how long a provider is not asked again for a subject
	// that it called invalid. Default 24h; negative: not at all.
	RememberRefusals time.Duration `yaml:"remember_refusals"`
	// RefusalsKept is how many such refusals are remembered, the oldest make
	// room. Default 10000.
	RefusalsKept int `yaml:"refusals_kept"`
	// AskBeyondSuppressed asks the next provider although one refused for a
	// legal reason or because the person objected. Default false: the search
	// for this person ends there.
	AskBeyondSuppressed bool `yaml:"ask_beyond_suppressed"`
	// Breaker is when a failing provider is left alone.
	Breaker BreakerConfig `yaml:"breaker"`
	// Plans are named ways to ask, which accounts choose among; those that choose
	// none, or one that is not here, get what the fields above say. Default none.
	Plans map[string]Plan `yaml:"plans"`
}

// Plan is whom to ask for some accounts, and in which order. The zero Plan is
// what the Config says without it.
type Plan struct {
	// Providers by name, primary, secondary, …: nobody else is asked. Default:
	// all, as they are configured.
	Providers []string `yaml:"providers"`
	// Order in which they are asked. Default: as `order` of the router says.
	Order Order `yaml:"order"`
	// MinConfidence, from 0 to 1. Default: as `min_confidence` of the router says.
	MinConfidence float64 `yaml:"min_confidence"`
}

// Patience is a waiting time per lane.
type Patience struct {
	Interactive time.Duration `yaml:"interactive"` // default 1s
	Standard    time.Duration `yaml:"standard"`    // default 2s
	Bulk        time.Duration `yaml:"bulk"`        // default 20s: rather late than dear
}

// In returns the patience of a lane; an unknown one is as patient as
// Interactive.
func (p Patience) In(lane enrich.Lane) time.Duration {
	switch lane {
	case enrich.Bulk:
		return p.Bulk
	case enrich.Standard:
		return p.Standard
	default:
		return p.Interactive
	}
}

// Backoff doubles from Base up to Cap.
type Backoff struct {
	// Base is the wait before the first repeat. Default 250ms.
	Base time.Duration `yaml:"base"`
	// Cap is the longest wait of our own; a vendor may ask for more. Default 5s.
	Cap time.Duration `yaml:"cap"`
}

// before returns the wait before the n-th repeat, counted from 1.
func (b Backoff) before(repeat int) time.Duration {
	wait := b.Base
	for ; repeat > 1 && wait < b.Cap; repeat-- {
		wait *= 2
	}
	return min(wait, b.Cap)
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	c.Order = cmp.Or(c.Order, Listed)
	c.Attempts = cmp.Or(c.Attempts, 3)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, 10*time.Second)
	c.MinAttempt = cmp.Or(c.MinAttempt, 100*time.Millisecond)
	c.Keep = cmp.Or(c.Keep, 10*time.Second)
	c.Patience.Interactive = cmp.Or(c.Patience.Interactive, time.Second)
	c.Patience.Standard = cmp.Or(c.Patience.Standard, 2*time.Second)
	c.Patience.Bulk = cmp.Or(c.Patience.Bulk, 20*time.Second)
	c.Backoff.Base = cmp.Or(c.Backoff.Base, 250*time.Millisecond)
	c.Backoff.Cap = cmp.Or(c.Backoff.Cap, 5*time.Second)
	c.RetryRatio = cmp.Or(c.RetryRatio, 0.1)
	c.Pause = cmp.Or(c.Pause, 5*time.Second)
	c.BlockPause = cmp.Or(c.BlockPause, time.Minute)
	c.PollEvery = cmp.Or(c.PollEvery, 3*time.Second)
	c.RememberRefusals = cmp.Or(c.RememberRefusals, 24*time.Hour)
	c.RefusalsKept = cmp.Or(c.RefusalsKept, 10_000)
	c.Breaker = c.Breaker.withDefaults()
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(c.MinConfidence < 0 || c.MinConfidence > 1, "min_confidence: %v is not between 0 and 1", c.MinConfidence)
	report(c.RetryRatio > 1, "retry_ratio: %v would repeat more calls than there are", c.RetryRatio)
	report(c.Attempts < 0, "attempts: %d is negative", c.Attempts)
	report(c.RefusalsKept < 0, "refusals_kept: %d is negative", c.RefusalsKept)

	c = c.WithDefaults()
	report(!c.Order.known(), "order: %q is neither %q nor %q", c.Order, Listed, Cheapest)
	for _, field := range []struct {
		name  string
		value time.Duration
	}{
		{"attempt_timeout", c.AttemptTimeout}, {"min_attempt", c.MinAttempt}, {"keep", c.Keep},
		{"patience.interactive", c.Patience.Interactive}, {"patience.standard", c.Patience.Standard},
		{"patience.bulk", c.Patience.Bulk}, {"backoff.base", c.Backoff.Base}, {"backoff.cap", c.Backoff.Cap},
		{"pause", c.Pause}, {"block_pause", c.BlockPause}, {"poll_every", c.PollEvery},
	} {
		report(field.value < 0, "%s: %s is negative", field.name, field.value)
	}
	report(c.Backoff.Cap < c.Backoff.Base, "backoff.cap: %s is shorter than backoff.base, %s", c.Backoff.Cap, c.Backoff.Base)
	report(c.AttemptTimeout < c.MinAttempt, "attempt_timeout: %s is shorter than min_attempt, %s", c.AttemptTimeout, c.MinAttempt)
	for _, problem := range c.Breaker.validate() {
		problems = append(problems, fmt.Errorf("breaker.%w", problem))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Plans)) {
		for _, problem := range c.Plans[name].validate() {
			problems = append(problems, fmt.Errorf("plans.%s.%w", name, problem))
		}
	}
	return problems
}

func (p Plan) validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(p.Providers != nil && len(p.Providers) == 0, "providers: is empty, so nobody would be asked")
	for i, provider := range p.Providers {
		report(slices.Contains(p.Providers[:i], provider), "providers[%d]: %q is listed twice", i, provider)
	}
	report(p.Order != "" && !p.Order.known(), "order: %q is neither %q nor %q", p.Order, Listed, Cheapest)
	report(p.MinConfidence < 0 || p.MinConfidence > 1, "min_confidence: %v is not between 0 and 1", p.MinConfidence)
	return problems
}
