package quota_test

import (
	"strings"
	"testing"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

// limit is a good limit, changed.
func limit(change func(*enrich.Limit)) enrich.Limit {
	l := enrich.Limit{Name: "limit", Shape: enrich.FixedWindow, Amount: 100, Window: time.Minute}
	change(&l)
	return l
}

// TestBrokenLimits: each limit is refused for the reason that names it.
func TestBrokenLimits(t *testing.T) {
	for want, change := range map[string]func(*enrich.Limit){
		"name: is empty":                  func(l *enrich.Limit) { l.Name = "" },
		`shape: "leaky" is none of`:       func(l *enrich.Limit) { l.Shape = "leaky" },
		`unit: "calls" is none of`:        func(l *enrich.Limit) { l.Unit = "calls" },
		"amount: 0 is not positive":       func(l *enrich.Limit) { l.Amount = 0 },
		"amount: -5 is not positive":      func(l *enrich.Limit) { l.Amount = -5 },
		"is too large":                    func(l *enrich.Limit) { l.Amount = 1 << 62 },
		"window: 0s is shorter":           func(l *enrich.Limit) { l.Window = 0 },
		"window: -1s is shorter":          func(l *enrich.Limit) { l.Window = -time.Second },
		"is longer than":                  func(l *enrich.Limit) { l.Window = 1000 * 24 * time.Hour },
		"burst: only a token bucket":      func(l *enrich.Limit) { l.Burst = 5 },
		"burst: -1 is negative":           func(l *enrich.Limit) { l.Shape, l.Burst = enrich.TokenBucket, -1 },
		"calendar: only a fixed window":   func(l *enrich.Limit) { l.Shape, l.Window, l.Calendar = enrich.Sliding, 0, "day" },
		"window: contradicts calendar":    func(l *enrich.Limit) { l.Calendar = "day" },
		`calendar: "week" is neither`:     func(l *enrich.Limit) { l.Window, l.Calendar = 0, "week" },
		`zone: "Mars/Olympus" is not`:     func(l *enrich.Limit) { l.Window, l.Calendar, l.Zone = 0, "day", "Mars/Olympus" },
		`zone: "Local" is not`:            func(l *enrich.Limit) { l.Window, l.Calendar, l.Zone = 0, "day", "Local" },
		`reset_at: "25:00" is not`:        func(l *enrich.Limit) { l.Window, l.Calendar, l.ResetAt = 0, "day", "25:00" },
		"zone: has no meaning":            func(l *enrich.Limit) { l.Zone = "UTC" },
		"reset_at: has no meaning":        func(l *enrich.Limit) { l.ResetAt = "06:00" },
		"window: a concurrency has none":  func(l *enrich.Limit) { l.Shape = enrich.Concurrency },
		"unit: a concurrency counts":      func(l *enrich.Limit) { l.Shape, l.Window, l.Unit = enrich.Concurrency, 0, enrich.Entities },
		"unit: money is counted in fixed": func(l *enrich.Limit) { l.Shape, l.Unit = enrich.Sliding, enrich.Money },
	} {
		problems := quota.ValidateLimits([]enrich.Limit{limit(change)})
		if len(problems) == 0 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("want a problem with %q, got %v", want, problems)
		}
	}
}

// TestContradictingLimits: limits that cannot be meant next to each other.
func TestContradictingLimits(t *testing.T) {
	minute := limit(func(*enrich.Limit) {})
	for want, other := range map[string]enrich.Limit{
		`name: "limit" is used twice`: limit(func(l *enrich.Limit) { l.Window = time.Hour; l.Amount = 1000 }),
		"which has the same window":   limit(func(l *enrich.Limit) { l.Name, l.Amount = "again", 50 }),
		"is less than":                limit(func(l *enrich.Limit) { l.Name, l.Window, l.Amount = "hour", time.Hour, 50 }),
		"burst: 500 of":               {Name: "rate", Shape: enrich.TokenBucket, Amount: 10, Window: time.Second, Burst: 500},
	} {
		problems := quota.ValidateLimits([]enrich.Limit{minute, other})
		if len(problems) != 1 || !strings.Contains(problems[0].Error(), want) {
			t.Errorf("want one problem with %q, got %v", want, problems)
		}
	}
	for name, good := range map[string][]enrich.Limit{
		"other operations": {minute, limit(func(l *enrich.Limit) { l.Name, l.Amount, l.Operations = "polls", 5, []string{"poll"} })},
		"other unit":       {minute, limit(func(l *enrich.Limit) { l.Name, l.Amount, l.Unit = "subjects", 1000, enrich.Entities })},
		"three windows": {
			{Name: "second", Shape: enrich.Sliding, Amount: 35, Window: time.Second},
			{Name: "hour", Shape: enrich.Sliding, Amount: 75_600, Window: time.Hour},
			{Name: "day", Shape: enrich.Sliding, Amount: 907_200, Window: 24 * time.Hour},
		},
		"rate and concurrency": {bucket, {Name: "at_once", Shape: enrich.Concurrency, Amount: 8}},
	} {
		if problems := quota.ValidateLimits(good); len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

// TestBrokenConfig: every problem is reported at once, by the name of its field.
func TestBrokenConfig(t *testing.T) {
	config := quota.Config{
		Replicas: -1, Guard: time.Minute, Reserve: 0.9, MaxWaiting: -1, MaxCall: -1, MaxPause: -1,
		Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{"nowhere"}, DB: -1, TLS: redisconn.TLS{CertFile: "x"}}, Lease: time.Hour},
		Caps: []quota.Cap{
			{}, {Account: "a", Day: 5, Month: 2}, {Account: "a", Day: 1}, {Account: "b", Day: -1, Zone: "Mars/Olympus"},
		},
	}
	var all []string
	for _, problem := range config.Validate() {
		all = append(all, problem.Error())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{
		"replicas: -1", "guard: 1m0s", "reserve: 0.9", "max_waiting: -1", "max_call: -1ns", "max_pause: -1ns",
		`redis.addresses[0]: "nowhere"`, "redis.db: -1", "redis.lease: 1h0m0s", "redis.tls.enabled",
		"caps[0]: caps neither", "caps[1]: day: 5 is more than month, 2", `caps[2]: a second cap of account "a"`,
		"caps[3].day: -1", `caps[3].zone: "Mars/Olympus"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no problem says %q in:\n%s", want, text)
		}
	}
	if problems := (quota.Config{}).Validate(); len(problems) > 0 {
		t.Errorf("the zero config: %v", problems)
	}
	if _, err := quota.New(config, nil, quota.Options{}); err == nil {
		t.Error("New obeyed a broken config")
	}
}

// TestApplyIsAllOrNothing: one bad limit leaves everything as it was.
func TestApplyIsAllOrNothing(t *testing.T) {
	k := newKeeper(t, quota.Config{}, bucket)
	err := k.Apply(map[string][]enrich.Limit{"acme": {perDay}, "other": {limit(func(l *enrich.Limit) { l.Amount = 0 })}})
	if err == nil || !strings.Contains(err.Error(), "provider other: limits[0] (limit): amount") {
		t.Errorf("want the bad limit named, got %v", err)
	}
	if states := k.Snapshot(); len(states) != 1 || states[0].Limits[0].Name != "rate" {
		t.Errorf("the limits changed: %+v", states)
	}
}
