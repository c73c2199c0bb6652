package quota_test

import (
	"math"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/enrichd/enrichd/enrich"
)

// vendor is a strict judge: it counts calls as they arrive and refuses what is
// over its rules. Its clock may differ from ours.
type vendor struct {
	rules  []strict
	offset time.Duration // of the vendor's clock
	tells  *strictFixed  // its remaining calls are in every answer
	ban    ban
	serve  func() time.Duration // service time; nil: log-normal around 120 ms

	mu       sync.Mutex
	random   *rand.Rand
	calls    int
	refused  int
	accepted int
	last     time.Time // when the last accepted call arrived
	banned   time.Time
	refusals []time.Time
}

// ban closes the vendor for a while after so many refusals in a time.
type ban struct {
	refusals int
	within   time.Duration
	lasts    time.Duration
}

// strict is one rule of a vendor. All judge in the vendor's time.
type strict interface {
	// room tells whether one more call may arrive now, and if not when.
	room(now time.Time) (ok bool, ready time.Time)
	// count counts a call that was accepted, or refused.
	count(now time.Time, accepted bool)
	// done tells that an accepted call ended.
	done()
}

func newVendor(rules ...strict) *vendor {
	return &vendor{rules: rules, random: rand.New(rand.NewPCG(1, 2))}
}

// answer is what a call brought: refused with a hint, or accepted.
type answer struct {
	accepted bool
	retryAt  time.Time
	limits   []enrich.LimitState // what the headers say
}

// call makes one call: way there, judgement, service, way back.
func (v *vendor) call() answer {
	time.Sleep(v.way())
	got, service := v.arrive()
	time.Sleep(service)
	if got.accepted {
		v.mu.Lock()
		for _, rule := range v.rules {
			rule.done()
		}
		v.mu.Unlock()
	}
	time.Sleep(v.way())
	return got
}

// count is how many calls have arrived.
func (v *vendor) count() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.calls
}

func (v *vendor) arrive() (answer, time.Duration) {
	v.mu.Lock()
	defer v.mu.Unlock()
	now := time.Now().Add(v.offset)
	v.calls++
	accepted, ready := !now.Before(v.banned), v.banned
	for _, rule := range v.rules {
		if ok, at := rule.room(now); !ok {
			accepted = false
			if at.After(ready) {
				ready = at
			}
		}
	}
	for _, rule := range v.rules {
		rule.count(now, accepted)
	}
	if accepted {
		v.accepted++
		v.last = time.Now()
		return answer{accepted: true, limits: v.headers()}, v.service()
	}
	v.refuse(now)
	// Retry-After: whole seconds, rounded up.
	seconds := math.Ceil(ready.Sub(now).Seconds())
	return answer{retryAt: time.Now().Add(time.Duration(max(seconds, 1)) * time.Second)}, 5 * time.Millisecond
}

func (v *vendor) refuse(now time.Time) {
	v.refused++
	if v.ban.refusals == 0 {
		return
	}
	v.refusals = append(v.refusals, now)
	for now.Sub(v.refusals[0]) > v.ban.within {
		v.refusals = v.refusals[1:]
	}
	if len(v.refusals) >= v.ban.refusals {
		v.banned, v.refusals = now.Add(v.ban.lasts), nil
	}
}

func (v *vendor) headers() []enrich.LimitState {
	if v.tells == nil {
		return nil
	}
	return []enrich.LimitState{{Name: "minute", Limit: int64(v.tells.amount), Remaining: int64(v.tells.amount - v.tells.used)}}
}

// spendElsewhere is another system that uses the same account, until stop.
func (v *vendor) spendElsewhere(every time.Duration, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(every):
		}
		v.mu.Lock()
		now := time.Now().Add(v.offset)
		for _, rule := range v.rules {
			ok, _ := rule.room(now)
			rule.count(now, ok)
		}
		v.mu.Unlock()
	}
}

// way is the one-way time to the vendor: 5 to 60 ms, mean 13.
func (v *vendor) way() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return min(5*time.Millisecond+time.Duration(v.random.ExpFloat64()*8*float64(time.Millisecond)), 60*time.Millisecond)
}

func (v *vendor) service() time.Duration {
	if v.serve != nil {
		return v.serve()
	}
	return time.Duration(math.Exp(v.random.NormFloat64()*0.4) * 120 * float64(time.Millisecond))
}

// strictBucket is a token bucket that is full at first.
type strictBucket struct {
	rate, burst float64
	tokens      float64
	last        time.Time
}

func newStrictBucket(rate, burst float64) *strictBucket {
	return &strictBucket{rate: rate, burst: burst, tokens: burst}
}

func (b *strictBucket) room(now time.Time) (bool, time.Time) {
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	}
	b.last = now
	// A millionth of a token is rounding.
	if b.tokens >= 1-1e-6 {
		return true, now
	}
	return false, now.Add(time.Duration((1 - b.tokens) / b.rate * float64(time.Second)))
}

func (b *strictBucket) count(_ time.Time, accepted bool) {
	if accepted {
		b.tokens--
	}
}

func (b *strictBucket) done() {}

// strictFixed is a window aligned to the vendor's clock. With countsRefused a
// refused call is counted too.
type strictFixed struct {
	amount        int
	length        time.Duration
	countsRefused bool
	start         time.Time
	used          int
}

func (f *strictFixed) room(now time.Time) (bool, time.Time) {
	if start := now.Truncate(f.length); !start.Equal(f.start) {
		f.start, f.used = start, 0
	}
	return f.used < f.amount, f.start.Add(f.length)
}

func (f *strictFixed) count(_ time.Time, accepted bool) {
	if accepted || f.countsRefused {
		f.used++
	}
}

func (f *strictFixed) done() {}

// strictSliding is an exact log.
type strictSliding struct {
	amount        int
	length        time.Duration
	countsRefused bool
	log           []time.Time
}

func (s *strictSliding) room(now time.Time) (bool, time.Time) {
	for len(s.log) > 0 && now.Sub(s.log[0]) >= s.length {
		s.log = s.log[1:]
	}
	if len(s.log) < s.amount {
		return true, now
	}
	return false, s.log[len(s.log)-s.amount].Add(s.length)
}

func (s *strictSliding) count(now time.Time, accepted bool) {
	if accepted || s.countsRefused {
		s.log = append(s.log, now)
	}
}

func (s *strictSliding) done() {}

// strictSlots allows so many calls at once.
type strictSlots struct{ amount, running int }

func (s *strictSlots) room(now time.Time) (bool, time.Time) { return s.running < s.amount, now }
func (s *strictSlots) done()                                { s.running-- }
func (s *strictSlots) count(_ time.Time, accepted bool) {
	if accepted {
		s.running++
	}
}
