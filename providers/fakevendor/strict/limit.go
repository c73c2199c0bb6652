package strict

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Shape is how a limit's units come back.
type Shape string

// The shapes of a limit.
const (
	TokenBucket Shape = "token_bucket" // Amount per Window flows in, at most Burst are kept
	Fixed       Shape = "fixed"        // Amount per Window, windows aligned to the clock of Zone
	Sliding     Shape = "sliding"      // at most Amount in any Window
	Day         Shape = "day"          // Amount a day, from ResetAt to ResetAt in Zone
	Month       Shape = "month"        // Amount a calendar month in Zone, from the first at ResetAt
	Concurrency Shape = "concurrency"  // at most Amount under way
)

var shapes = []Shape{TokenBucket, Fixed, Sliding, Day, Month, Concurrency}

// Unit is what a limit counts.
type Unit string

// The units of a limit.
const (
	Requests Unit = "requests" // calls
	Entities Unit = "entities" // subjects asked for
)

// Limit is one rule of a vendor.
type Limit struct {
	// Name tells the limit in the vendor's headers and texts ("minute").
	Name string `yaml:"name"`
	// Shape is how units come back: token_bucket, fixed, sliding, day, month
	// or concurrency.
	Shape Shape `yaml:"shape"`
	// Amount is how many units there are.
	Amount int64 `yaml:"amount"`
	// Window is the time for Amount; for token_bucket, fixed and sliding alone.
	Window time.Duration `yaml:"window"`
	// Burst is the most a token bucket keeps; 0: Amount.
	Burst int64 `yaml:"burst"`
	// Zone is the IANA time zone whose clock aligns windows; empty: UTC.
	Zone string `yaml:"zone"`
	// ResetAt is the time of day at which a day or month begins; empty: 00:00.
	ResetAt string `yaml:"reset_at"`
	// Unit is requests or entities; empty: requests.
	Unit Unit `yaml:"unit"`
	// Operations the limit counts; empty: all.
	Operations []string `yaml:"operations"`
	// CountRefused makes refused calls count too: who hammers stays out. Of no
	// effect on concurrency.
	CountRefused bool `yaml:"count_refused"`
}

// Ban keeps an account out after too many offences.
type Ban struct {
	// After is how many offences bring the ban.
	After int `yaml:"after"`
	// Within is the time in which they fall.
	Within time.Duration `yaml:"within"`
	// For is how long the ban lasts.
	For time.Duration `yaml:"for"`
	// On lists what offends: rate_limited, auth_failed, invalid_input. Empty:
	// rate_limited. Calls that the ban itself refuses do not offend.
	On []string `yaml:"on"`
}

var offences = []string{"rate_limited", "auth_failed", "invalid_input"}

// The bounds that keep arithmetic exact and memory small.
const (
	mostAmount  = 1_000_000_000
	mostLogged  = 1_000_000 // of a sliding log, and of a ban's offences
	longestTime = 366 * 24 * time.Hour
)

// Validate returns every problem of the limits and bans, or nil.
func Validate(limits []Limit, bans []Ban) error {
	var problems []error
	for i, l := range limits {
		for _, err := range l.problems() {
			problems = append(problems, fmt.Errorf("limits[%d]: %w", i, err))
		}
	}
	for i, b := range bans {
		for _, err := range b.problems() {
			problems = append(problems, fmt.Errorf("bans[%d]: %w", i, err))
		}
	}
	return errors.Join(problems...)
}

func (l Limit) problems() (found []error) {
	problem := func(format string, args ...any) { found = append(found, fmt.Errorf(format, args...)) }
	windowed := l.Shape == TokenBucket || l.Shape == Fixed || l.Shape == Sliding
	calendar := l.Shape == Day || l.Shape == Month
	if !slices.Contains(shapes, l.Shape) {
		problem("shape: %q is none of %v", l.Shape, shapes)
	}
	if l.Amount < 0 || l.Amount > mostAmount {
		problem("amount: %d is not from 0 to %d", l.Amount, mostAmount)
	}
	if l.Shape == Sliding && l.Amount > mostLogged {
		problem("amount: a sliding log holds at most %d", mostLogged)
	}
	if windowed && (l.Window < time.Millisecond || l.Window > longestTime) {
		problem("window: %s is not from 1ms to %s", l.Window, longestTime)
	}
	if !windowed && l.Window != 0 {
		problem("window: a limit of shape %s has none", l.Shape)
	}
	if l.Burst < 0 || l.Burst > mostAmount || l.Burst != 0 && l.Shape != TokenBucket {
		problem("burst: %d is for token buckets alone, from 0 to %d", l.Burst, mostAmount)
	}
	if l.Shape == TokenBucket && l.Amount == 0 {
		problem("amount: nothing flows into the bucket")
	}
	if l.Shape == TokenBucket && l.Window > 0 && l.burst() > math.MaxInt64/2/int64(l.Window) {
		problem("burst: %d in a window of %s is too large to count exactly", l.burst(), l.Window)
	}
	if _, err := time.LoadLocation(l.Zone); err != nil {
		problem("zone: %q is no IANA time zone", l.Zone)
	}
	if _, err := l.resetAt(); err != nil || l.ResetAt != "" && !calendar {
		problem("reset_at: %q must be HH:MM of a day or month limit", l.ResetAt)
	}
	if l.Unit != "" && l.Unit != Requests && l.Unit != Entities {
		problem("unit: %q is neither requests nor entities", l.Unit)
	}
	return found
}

func (l Limit) burst() int64 {
	if l.Burst == 0 {
		return l.Amount
	}
	return l.Burst
}

// resetAt is the time of day at which the day begins.
func (l Limit) resetAt() (time.Duration, error) {
	if l.ResetAt == "" {
		return 0, nil
	}
	clock, err := time.Parse("15:04", l.ResetAt)
	if err != nil {
		return 0, err
	}
	return time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute, nil
}

func (b Ban) problems() (found []error) {
	if b.After < 1 || b.After > mostLogged {
		found = append(found, fmt.Errorf("after: %d is not from 1 to %d", b.After, mostLogged))
	}
	if b.Within <= 0 || b.Within > longestTime {
		found = append(found, fmt.Errorf("within: %s is not from 1ns to %s", b.Within, longestTime))
	}
	if b.For <= 0 || b.For > longestTime {
		found = append(found, fmt.Errorf("for: %s is not from 1ns to %s", b.For, longestTime))
	}
	for _, offence := range b.On {
		if !slices.Contains(offences, offence) {
			found = append(found, fmt.Errorf("on: %q is none of %v", offence, offences))
		}
	}
	return found
}
