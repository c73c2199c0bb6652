package server

import (
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// Rate is how many requests an account may send: so many in any window, and
// that many at once. The zero Rate is no bound.
type Rate struct {
	Requests int64
	Window   time.Duration
}

func (r Rate) unbounded() bool { return r.Requests <= 0 || r.Window <= 0 }

// interval is the time in which one more request comes free.
func (r Rate) interval() int64 { return max(1, int64(r.Window)/r.Requests) }

// standing is where an account stands after a request.
type standing struct {
	rate Rate
	// left is how many requests may follow at once.
	left int64
	// wait is when a refused request may come again; 0 for one that was let in.
	wait time.Duration
	// full is when all of the rate is free again.
	full time.Duration
}

// policy and state are the fields RateLimit-Policy and RateLimit of
// draft-ietf-httpapi-ratelimit-headers.
func (s standing) policy() string {
	return fmt.Sprintf(`"account";q=%d;w=%d`, s.rate.Requests, seconds(s.rate.Window))
}

func (s standing) state() string {
	return fmt.Sprintf(`"account";r=%d;t=%d`, s.left, seconds(max(s.wait, s.full)))
}

// seconds are whole ones, rounded up.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// reasonAccountRate tells the account's own rate from those of providers.
const reasonAccountRate = "account_rate"

// refusal is the answer to a request over the rate; nil to one that was let in.
func (s standing) refusal() error {
	if s.wait == 0 {
		return nil
	}
	return &enrich.Error{
		Kind: enrich.Throttled, Reason: reasonAccountRate, Offset: -1, ReadyAt: time.Now().Add(s.wait),
		Message: fmt.Sprintf("the account may send %d requests in %s", s.rate.Requests, s.rate.Window),
	}
}

// rates counts the accounts' requests. The zero value counts from nothing; it
// is safe for concurrent use. It holds one booking per account, and accounts come
// from the configuration.
type rates struct {
	began  time.Time
	booked sync.Map // account name → *booking
}

// booking is the time, in nanoseconds since the rates began, up to which an
// account's requests so far fill the rate under which they were counted.
type booking struct {
	mu   sync.Mutex
	rate Rate
	upTo int64
}

// take counts one request of an account, unless that is over its rate.
func (r *rates) take(caller *Caller) standing {
	return r.count(caller, 1, false)
}

// charge counts further requests that were let in with one: they are owed.
func (r *rates) charge(caller *Caller, requests int64) standing {
	return r.count(caller, requests, true)
}

// count is the generic cell rate algorithm (ITU-T I.371): requests fit while the
// booking is less than a window ahead.
func (r *rates) count(caller *Caller, requests int64, owed bool) standing {
	rate := caller.Rate
	if rate.unbounded() {
		return standing{}
	}
	found, ok := r.booked.Load(caller.Account.Name)
	if !ok {
		found, _ = r.booked.LoadOrStore(caller.Account.Name, &booking{rate: rate})
	}
	b := found.(*booking)
	b.mu.Lock()
	defer b.mu.Unlock()
	now := int64(time.Since(r.began))
	if b.rate != rate {
		b.convert(rate, now)
	}
	interval := rate.interval()
	from, horizon := max(b.upTo, now), now+interval*rate.Requests
	if !owed && from > horizon-interval {
		return standing{rate: rate, wait: time.Duration(from + interval - horizon), full: time.Duration(from - now)}
	}
	b.upTo = from + min(interval*requests, longestDebt)
	return standing{rate: rate, left: max(0, (horizon-b.upTo)/interval), full: time.Duration(b.upTo - now)}
}

// longestDebt keeps sums of times within their range.
const longestDebt = math.MaxInt64 / 4

// convert goes on under another rate: requests that were counted stay counted.
// Of those that the rate before let in no more count than fill the new one; what
// a batch owes beyond its rate stays owed.
func (b *booking) convert(rate Rate, now int64) {
	counted := float64(max(0, b.upTo-now)) / float64(b.rate.interval())
	beyond := max(0, counted-float64(b.rate.Requests))
	counted = min(counted-beyond, float64(rate.Requests)) + beyond
	b.upTo = now + int64(min(counted*float64(rate.interval()), longestDebt))
	b.rate = rate
}
