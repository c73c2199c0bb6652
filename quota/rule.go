package quota

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

const (
	minWindow = 10 * time.Millisecond
	maxWindow = 366 * 24 * time.Hour
	// maxAmount keeps sums of units far from the edge of int64.
	maxAmount = 1 << 50
	// maxGuard is the most a guard can grow to.
	maxGuard = 5 * time.Second
)

// rule is a limit that was found good, with its zone and times read.
type rule struct {
	enrich.Limit
	calendar calendar
}

// ValidateLimits reports everything that cannot be obeyed in the limits of one
// provider, each by itself and next to each other.
func ValidateLimits(limits []enrich.Limit) (problems []error) {
	_, problems = compile(limits)
	return problems
}

// compile reads limits, or says what is wrong with them.
func compile(limits []enrich.Limit) (rules []rule, problems []error) {
	for i, limit := range limits {
		where := fmt.Sprintf("limits[%d]", i)
		if limit.Name != "" {
			where += " (" + limit.Name + ")"
		}
		read, wrong := read(limit)
		for _, problem := range wrong {
			problems = append(problems, fmt.Errorf("%s: %w", where, problem))
		}
		if len(wrong) > 0 {
			continue
		}
		for _, other := range rules {
			if problem := read.contradicts(other); problem != nil {
				problems = append(problems, fmt.Errorf("%s: %w", where, problem))
			}
		}
		rules = append(rules, read)
	}
	return rules, problems
}

// read checks one limit by itself and sets its defaults.
func read(limit enrich.Limit) (r rule, problems []error) {
	report := func(bad bool, format string, args ...any) {
		if bad {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	limit.Unit = cmp.Or(limit.Unit, enrich.Requests)
	report(limit.Name == "", "name: is empty")
	report(!slices.Contains([]enrich.Unit{enrich.Requests, enrich.Entities, enrich.Money}, limit.Unit),
		"unit: %q is none of requests, entities, money", limit.Unit)
	report(limit.Amount <= 0, "amount: %d is not positive", limit.Amount)
	report(limit.Amount > maxAmount, "amount: %d is too large", limit.Amount)
	report(limit.Burst < 0, "burst: %d is negative", limit.Burst)
	report(limit.Burst > maxAmount, "burst: %d is too large", limit.Burst)
	report(limit.Burst > 0 && limit.Shape != enrich.TokenBucket, "burst: only a token bucket has one")
	report(limit.Calendar != "" && limit.Shape != enrich.FixedWindow, "calendar: only a fixed window follows one")
	report(limit.Unit == enrich.Money && limit.Shape != enrich.FixedWindow, "unit: money is counted in fixed windows only")
	report(limit.Calendar == "" && limit.Zone != "", "zone: has no meaning without calendar")
	report(limit.Calendar == "" && limit.ResetAt != "", "reset_at: has no meaning without calendar")
	switch limit.Shape {
	case enrich.TokenBucket, enrich.FixedWindow, enrich.Sliding:
		report(limit.Calendar != "" && limit.Window != 0, "window: contradicts calendar")
		report(limit.Calendar == "" && limit.Window < minWindow, "window: %s is shorter than %s", limit.Window, minWindow)
		report(limit.Window > maxWindow, "window: %s is longer than %s", limit.Window, maxWindow)
	case enrich.Concurrency:
		report(limit.Window != 0, "window: a concurrency has none")
		report(limit.Unit != enrich.Requests, "unit: a concurrency counts requests")
	default:
		report(true, "shape: %q is none of token_bucket, fixed, sliding, concurrency", limit.Shape)
	}
	if limit.Shape == enrich.TokenBucket {
		limit.Burst = cmp.Or(limit.Burst, limit.Amount)
	}
	times, err := readCalendar(limit)
	if err != nil {
		problems = append(problems, err)
	}
	return rule{Limit: limit, calendar: times}, problems
}

// contradicts tells whether both limits cannot be meant at once: the one makes
// the other pointless, which is a slip of the pen.
func (r rule) contradicts(other rule) error {
	switch {
	case r.Name == other.Name:
		return fmt.Errorf("name: %q is used twice", r.Name)
	case r.Unit != other.Unit || !r.overlaps(other):
		return nil
	case r.Shape == enrich.Concurrency || other.Shape == enrich.Concurrency:
		if r.Shape == other.Shape && slices.Equal(r.Operations, other.Operations) {
			return fmt.Errorf("amount: contradicts %q, a second concurrency of the same operations", other.Name)
		}
		return nil
	}
	long, short := r, other
	if long.length() < short.length() {
		long, short = short, long
	}
	switch {
	case long.length() == short.length() && long.Shape == short.Shape && slices.Equal(long.Operations, short.Operations):
		return fmt.Errorf("window: contradicts %q, which has the same window", other.Name)
	case short.Shape == enrich.TokenBucket && long.Shape != enrich.TokenBucket && short.Burst > long.Amount && short.within(long):
		return fmt.Errorf("burst: %d of %q is more than %q allows in its whole window, %d", short.Burst, short.Name, long.Name, long.Amount)
	case long.length() > short.length() && long.Amount < short.Amount && short.within(long):
		return fmt.Errorf("amount: %d in %q is less than %d in the shorter %q", long.Amount, long.Name, short.Amount, short.Name)
	}
	return nil
}

// overlaps tells whether some operation counts in both.
func (r rule) overlaps(other rule) bool {
	return len(r.Operations) == 0 || len(other.Operations) == 0 ||
		slices.ContainsFunc(r.Operations, func(o string) bool { return slices.Contains(other.Operations, o) })
}

// within tells whether all that counts in r counts in other too.
func (r rule) within(other rule) bool {
	return len(other.Operations) == 0 || len(r.Operations) > 0 &&
		!slices.ContainsFunc(r.Operations, func(o string) bool { return !slices.Contains(other.Operations, o) })
}

// length is the window's usual length; 0 for a concurrency.
func (r rule) length() time.Duration {
	switch r.Calendar {
	case calendarDay:
		return 24 * time.Hour
	case calendarMonth:
		return 30 * 24 * time.Hour
	}
	return r.Window
}

// units is how much one call of the class takes from the limit.
func (r rule) units(operation string, entities int64) int64 {
	switch {
	case len(r.Operations) > 0 && !slices.Contains(r.Operations, operation):
		return 0
	case r.Unit == enrich.Entities:
		return entities
	}
	return 1
}

// id is the same for limits that count the same in the same windows, by whatever
// name and amount.
func (r rule) id() string {
	return fmt.Sprintf("%s,%s,%d,%s,%s,%s,%s", r.Shape, r.Unit, r.Window.Microseconds(), r.Calendar, r.Zone, r.ResetAt, strings.Join(r.Operations, "+"))
}

// equal tells whether both are the same limit.
func (r rule) equal(other rule) bool {
	return r.Name == other.Name && r.Amount == other.Amount && r.Burst == other.Burst && r.id() == other.id()
}

// capacity is the most that one call can take.
func (r rule) capacity() int64 {
	if r.Shape == enrich.TokenBucket {
		return r.Burst
	}
	return r.Amount
}

// divide is the part of the limit that one of so many replicas may use when
// they know nothing of each other. Where a whole unit per window is too much,
// the window is made longer.
func (r rule) divide(replicas int64) rule {
	if replicas <= 1 {
		return r
	}
	part := r.Amount / replicas
	if part == 0 && r.Window > 0 {
		times := (replicas + r.Amount - 1) / r.Amount
		r.Window *= time.Duration(times)
		r.calendar.every = r.Window
	}
	r.Amount = max(part, 1)
	if r.Shape == enrich.TokenBucket {
		r.Burst = max(r.Burst/replicas, 1)
	}
	return r
}
