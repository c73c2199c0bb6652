package server

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
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
// is safe for concurrent use. It holds one number per account, and accounts come
// from the configuration.
type rates struct {
	began  time.Time
	booked sync.Map // account name → *atomic.Int64
}

// take counts one request of an account, unless that is over its rate.
func (r *rates) take(caller *Caller) standing {
	return r.count(caller, 1, false)
}

// charge counts further requests that were let in with one: they are owed.
func (r *rates) charge(caller *Caller, requests int64) standing {
	return r.count(caller, requests, true)
}

// count is the generic cell rate algorithm (ITU-T I.371): booked is the time up
// to which the account's requests so far fill its rate, since began. Requests
// fit while that is less than a window ahead.
func (r *rates) count(caller *Caller, requests int64, owed bool) standing {
	rate := caller.Rate
	if rate.unbounded() {
		return standing{}
	}
	found, ok := r.booked.Load(caller.Account.Name)
	if !ok {
		found, _ = r.booked.LoadOrStore(caller.Account.Name, new(atomic.Int64))
	}
	booked, interval := found.(*atomic.Int64), rate.interval()
	for {
		now, old := int64(time.Since(r.began)), booked.Load()
		from, horizon := max(old, now), now+interval*rate.Requests
		if !owed && from > horizon-interval {
			return standing{rate: rate, wait: time.Duration(from + interval - horizon), full: time.Duration(from - now)}
		}
		to := from + min(interval*requests, math.MaxInt64/4)
		if booked.CompareAndSwap(old, to) {
			return standing{rate: rate, left: max(0, (horizon-to)/interval), full: time.Duration(to - now)}
		}
	}
}
