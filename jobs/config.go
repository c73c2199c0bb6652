package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/ledger"
)

// Config is how accepted work is worked off. The zero Config has the defaults.
type Config struct {
	// Workers of each lane: so many jobs run at once. More ask vendors for more
	// at once; quotas still hold. Default 64 for interactive and standard, 16
	// for bulk.
	Workers map[enrich.Lane]int `yaml:"workers"`
	// Deliverers are so many deliveries to sinks at once, each until it is
	// written down. Fewer spare a receiver and hold up the lanes' results.
	// Default 32.
	Deliverers int `yaml:"deliverers"`
	// Tries of a lead whose failures may pass. Waiting for providers that are not
	// ready, or fail for everybody, is none. Default 3.
	Tries int `yaml:"tries"`
	// Backoff before the second try; it doubles with each. Default 2s.
	Backoff time.Duration `yaml:"backoff"`
	// Deadline of a lead from its acceptance, all waits included. What is not
	// done by then becomes a dead letter. Default 72h.
	Deadline time.Duration `yaml:"deadline"`
	// AttemptTimeout is the longest that one attempt may take. It is longer than
	// the retry budget of a request. Default 60s.
	AttemptTimeout time.Duration `yaml:"attempt_timeout"`
	// DeliveryTries of a message to a sink. Default 12, over about three days.
	DeliveryTries int `yaml:"delivery_tries"`
	// DeliveryBackoff before the second try of a delivery; it doubles with each,
	// up to twelve hours. Default 30s.
	DeliveryBackoff time.Duration `yaml:"delivery_backoff"`
	// Keep says how long what has ended is kept. Default: for ever.
	Keep ledger.Retention `yaml:"keep"`
}

var defaultWorkers = map[enrich.Lane]int{enrich.Interactive: 64, enrich.Standard: 64, enrich.Bulk: 16}

// workers of a lane of the queue.
func (c Config) workers(lane enrich.Lane) int {
	if lane == deliverLane {
		return c.Deliverers
	}
	return c.Workers[lane]
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	workers := map[enrich.Lane]int{}
	for lane, usual := range defaultWorkers {
		if workers[lane] = c.Workers[lane]; workers[lane] == 0 {
			workers[lane] = usual
		}
	}
	c.Workers = workers
	c.Deliverers = cmp.Or(c.Deliverers, 32)
	c.Tries = cmp.Or(c.Tries, 3)
	c.Backoff = cmp.Or(c.Backoff, 2*time.Second)
	c.Deadline = cmp.Or(c.Deadline, 72*time.Hour)
	c.AttemptTimeout = cmp.Or(c.AttemptTimeout, time.Minute)
	c.DeliveryTries = cmp.Or(c.DeliveryTries, 12)
	c.DeliveryBackoff = cmp.Or(c.DeliveryBackoff, 30*time.Second)
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	for lane, count := range c.Workers {
		if _, known := defaultWorkers[lane]; !known {
			problems = append(problems, errors.New("workers: names a lane that there is not"))
		} else if count < 0 {
			problems = append(problems, fmt.Errorf("workers: %s: %d is negative", lane, count))
		}
	}
	for name, value := range map[string]int64{"deliverers": int64(c.Deliverers), "tries": int64(c.Tries), "backoff": int64(c.Backoff), "deadline": int64(c.Deadline),
		"attempt_timeout": int64(c.AttemptTimeout), "delivery_tries": int64(c.DeliveryTries), "delivery_backoff": int64(c.DeliveryBackoff)} {
		if value < 0 {
			problems = append(problems, fmt.Errorf("%s: is negative", name))
		}
	}
	return problems
}
