package deadletter

import (
	"errors"
	"fmt"
	"time"

	"github.com/enrichd/enrichd/sinks"
)

// Config says where and when the digest of each day goes. The zero Config sends
// none.
type Config struct {
	// URL takes the digest by POST, signed as a webhook of the sinks is. It is
	// https unless AllowPrivate. Default none: no digest is sent.
	URL string `yaml:"url"`
	// Secrets sign the digest, each with a signature of its own; "whsec_" and
	// base64. Required with a URL.
	Secrets []string `yaml:"secrets" secret:"true"`
	// AllowPrivate lets the URL lead to loopback, private and link-local
	// addresses, and to plain http. Default false.
	AllowPrivate bool `yaml:"allow_private"`
	// At is the time of day from which the day's digest is sent. Default
	// "08:00".
	At string `yaml:"at"`
	// Zone is where At is the time of day, by its name in the time zone
	// database. Default "UTC".
	Zone string `yaml:"zone"`
	// Waits is how long a lead may wait or be in work before the digest tells of
	// it. Default 24h.
	Waits time.Duration `yaml:"waits"`
	// Open is how long a dead letter may be open before the digest tells of it.
	// Default 24h.
	Open time.Duration `yaml:"open"`
}

// Enabled tells whether a digest is sent.
func (c Config) Enabled() bool { return c.URL != "" }

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	if c.At == "" {
		c.At = "08:00"
	}
	if c.Zone == "" {
		c.Zone = "UTC"
	}
	if c.Waits == 0 {
		c.Waits = 24 * time.Hour
	}
	if c.Open == 0 {
		c.Open = 24 * time.Hour
	}
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	c = c.WithDefaults()
	if _, err := time.Parse(timeOfDay, c.At); err != nil {
		problems = append(problems, errors.New("at: is no time of day such as 08:00"))
	}
	if _, err := time.LoadLocation(c.Zone); err != nil {
		problems = append(problems, fmt.Errorf("zone: %q is no time zone", c.Zone))
	}
	if c.Waits < 0 {
		problems = append(problems, errors.New("waits: is negative"))
	}
	if c.Open < 0 {
		problems = append(problems, errors.New("open: is negative"))
	}
	if !c.Enabled() {
		return problems
	}
	receiver, err := c.Receiver()
	if err != nil {
		return append(problems, err) // it names the field
	}
	_ = receiver.Close() // it has no connection yet
	return problems
}

// Receiver is the webhook that takes digests.
func (c Config) Receiver() (*sinks.Webhook, error) {
	return sinks.NewWebhook(sinks.WebhookConfig{Name: digestMark, URL: c.URL, Secrets: c.Secrets, AllowPrivate: c.AllowPrivate})
}

const timeOfDay = "15:04"

// clock is the time of day and where it is so. The configuration is valid.
func (c Config) clock() (at time.Duration, zone *time.Location) {
	c = c.WithDefaults()
	parsed, _ := time.Parse(timeOfDay, c.At)
	zone, _ = time.LoadLocation(c.Zone)
	return time.Duration(parsed.Hour())*time.Hour + time.Duration(parsed.Minute())*time.Minute, zone
}
