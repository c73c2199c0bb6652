package quota

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Config is how quotas are kept. The zero Config has the defaults: this process
// alone, nothing kept over a restart. What each vendor allows is not here but
// comes with the providers, as [enrich.Limit]s.
type Config struct {
	// StateFile keeps the counters of long windows, money spent and pauses over
	// a restart, even after a kill. Each process needs a file of its own.
	// Default none: a restart forgets what was spent, and may overspend.
	StateFile string `yaml:"state_file"`
	// Replicas is how many processes call the same vendor accounts. Without
	// Redis each takes its part of every limit, and what an idle one does not
	// use is wasted. With Redis it has no effect. Default 1.
	Replicas int `yaml:"replicas"`
	// Redis shares quotas among replicas. Default none.
	Redis RedisConfig `yaml:"redis"`
	// Guard covers the spread of the way to a vendor and doubt about the
	// vendor's clock: so long before and after the edge of a window a call
	// counts in both. Longer wastes a little of short windows; shorter risks
	// refusals. It grows by itself when a vendor refuses what should have been
	// allowed. Default 100ms; negative: none.
	Guard time.Duration `yaml:"guard"`
	// Reserve is the part of every limit, from 0 to 0.5, that is kept for the
	// interactive lane while interactive callers are about; it shrinks as the
	// window passes. Default 0.1; negative: none.
	Reserve float64 `yaml:"reserve"`
	// MaxWaiting is how many callers may wait in one lane of one provider; one
	// account gets at most half of the free places. More are refused at once.
	// Default 32768.
	MaxWaiting int `yaml:"max_waiting"`
	// MaxCall is the longest that a call can be under way: after it a place
	// among a vendor's concurrent calls is free again even if nobody settled
	// the call. It must exceed every provider's timeout. Default 5m.
	MaxCall time.Duration `yaml:"max_call"`
	// MaxPause is the longest that a vendor's hint can close it. Spent
	// allowances close it for up to 32 days, operators for as long as they
	// like. Default 24h.
	MaxPause time.Duration `yaml:"max_pause"`
	// Caps are the most that may be spent on vendors. Default none.
	Caps []Cap `yaml:"caps"`
	// Stopped is whom nobody calls, until the configuration says otherwise; to stop
	// in a hurry turn a switch over the API.
	Stopped StopConfig `yaml:"stopped"`
}

// Fixed names the fields that differ in next and take effect after a restart
// only. Both have their defaults.
func (c Config) Fixed(next Config) (fields []string) {
	differs := func(field string, differs bool) {
		if differs {
			fields = append(fields, field)
		}
	}
	differs("state_file", c.StateFile != next.StateFile)
	differs("replicas", c.Replicas != next.Replicas)
	differs("redis", !reflect.DeepEqual(c.Redis, next.Redis))
	differs("max_call", c.MaxCall != next.MaxCall)
	return fields
}

// Cap is the most that may be spent per day, month, or both. The most that
// waiting and running calls may charge is reserved beforehand, so that no
// number of callers at once can pass a cap.
type Cap struct {
	// Account whose calls count; empty: all accounts together; "*": each
	// account by itself.
	Account string `yaml:"account"`
	// Provider whose calls count; empty: all providers together.
	Provider string `yaml:"provider"`
	// Day is the most per calendar day in micros; 0: no cap.
	Day enrich.Micros `yaml:"day"`
	// Month is the most per calendar month in micros; 0: no cap.
	Month enrich.Micros `yaml:"month"`
	// Zone is the IANA time zone of days and months. Default UTC.
	Zone string `yaml:"zone"`
}

// WithDefaults returns c with its zero fields set.
func (c Config) WithDefaults() Config {
	c.Replicas = cmp.Or(c.Replicas, 1)
	c.Guard = cmp.Or(c.Guard, 100*time.Millisecond)
	c.Reserve = cmp.Or(c.Reserve, 0.1)
	c.MaxWaiting = cmp.Or(c.MaxWaiting, 1<<15)
	c.MaxCall = cmp.Or(c.MaxCall, 5*time.Minute)
	c.MaxPause = cmp.Or(c.MaxPause, 24*time.Hour)
	c.Redis = c.Redis.withDefaults()
	c.Guard = max(c.Guard, 0)
	c.Reserve = max(c.Reserve, 0)
	return c
}

// Validate reports every field that cannot be obeyed.
func (c Config) Validate() (problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	report(c.Replicas < 0, "replicas: %d is negative", c.Replicas)
	report(c.Guard > maxGuard, "guard: %s is longer than %s", c.Guard, maxGuard)
	report(c.Reserve > 0.5, "reserve: %v would keep more than half of a limit from the other lanes", c.Reserve)
	report(c.MaxWaiting < 0, "max_waiting: %d is negative", c.MaxWaiting)
	report(c.MaxCall < 0, "max_call: %s is negative", c.MaxCall)
	report(c.MaxPause < 0, "max_pause: %s is negative", c.MaxPause)
	for _, problem := range c.Redis.validate() {
		problems = append(problems, fmt.Errorf("redis.%w", problem))
	}
	for _, problem := range c.Stopped.validate() {
		problems = append(problems, fmt.Errorf("stopped.%w", problem))
	}
	seen := map[[2]string]bool{}
	for i, limit := range c.Caps {
		_, err := time.LoadLocation(limit.Zone)
		report(err != nil, "caps[%d].zone: %q is not a time zone", i, limit.Zone)
		report(limit.Day < 0, "caps[%d].day: %d is negative", i, limit.Day)
		report(limit.Month < 0, "caps[%d].month: %d is negative", i, limit.Month)
		report(limit.Day == 0 && limit.Month == 0, "caps[%d]: caps neither the day nor the month", i)
		report(limit.Month > 0 && limit.Day > limit.Month, "caps[%d]: day: %d is more than month, %d", i, limit.Day, limit.Month)
		of := [2]string{limit.Account, limit.Provider}
		report(seen[of], "caps[%d]: a second cap of account %q and provider %q", i, limit.Account, limit.Provider)
		seen[of] = true
	}
	return problems
}

func (c StopConfig) validate() (problems []error) {
	for _, list := range []struct {
		field string
		names []string
	}{{"providers", c.Providers}, {"accounts", c.Accounts}} {
		for i, name := range list.names {
			if name == "" || slices.Contains(list.names[:i], name) {
				problems = append(problems, fmt.Errorf("%s[%d]: %q is empty or listed twice", list.field, i, name))
			}
		}
	}
	return problems
}
