package quota_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2/proto"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// TestKilledReplica (Q3): one of three replicas dies at a third of the drain,
// with what it had booked; its leads enter again at the others. The last window
// has room for the few calls that are lost with it.
func TestKilledReplica(t *testing.T) {
	for name, c := range map[string]drainCase{"bucket": drainCases[0], "fixed": drainCases[1]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.leads -= 20
				time.Sleep(c.phase)
				f := newFleet(t, 3, c.limits...)
				v := newVendor(c.rules()...)
				r := newResult(v)
				ideal := c.ideal(r.began)
				alive, kill := context.WithCancel(context.Background())
				var all sync.WaitGroup
				for i := range c.leads {
					all.Go(func() {
						if i%3 != 0 || !r.try(alive, f.keepers[0], acme(enrich.Bulk, "big")) {
							r.lead(context.Background(), f.keepers[1+i%2], acme(enrich.Bulk, "big"))
						}
					})
				}
				time.Sleep(ideal / 3)
				f.wires[0].cut()
				kill()
				all.Wait()
				atLeast(t, "Q3 killed at a third: ideal/drain", ideal.Seconds()/r.drained().Seconds(), .95)
				atMost(t, "   refused per 10,000 calls", r.per10k(), 5)
			})
		})
	}
}

// TestRedisAway: replicas go on with fewer calls for a minute, then stop, and go
// on when Redis is back. The vendor notices nothing.
func TestRedisAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, bucket)
		v := newVendor(newStrictBucket(10, 20))
		r := newResult(v)
		ctx, stop := context.WithCancel(context.Background())
		var all sync.WaitGroup
		for i := range 10_000 {
			all.Go(func() { r.lead(ctx, f.keepers[i%3], acme(enrich.Bulk, "big")) })
		}
		calls := func(d time.Duration) float64 {
			before := v.count()
			time.Sleep(d)
			return float64(v.count()-before) / d.Seconds()
		}
		atLeast(t, "calls per second with Redis", calls(30*time.Second), 9.9)
		f.cut()
		rate := calls(55 * time.Second)
		atLeast(t, "calls per second while it is away", rate, 7)
		atMost(t, "calls per second while it is away", rate, 8.3)
		time.Sleep(15 * time.Second)
		atMost(t, "calls per second after a minute", calls(time.Minute), 0)
		f.mend()
		time.Sleep(5 * time.Second)
		atLeast(t, "calls per second when it is back", calls(30*time.Second), 9.9)
		atMost(t, "refused per 10,000 calls", r.per10k(), 0)
		stop()
		all.Wait()
	})
}

// TestRedisAwayRefusesSoon: a replica that made no calls before has none to go on
// with. Callers are told so in seconds, later ones at once, and are served when
// Redis is back.
func TestRedisAwayRefusesSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 1, bucket)
		ask := func() (time.Duration, error) {
			ctx, cancel := context.WithTimeout(t.Context(), 45*time.Second)
			defer cancel()
			began := time.Now()
			permit, err := f.keepers[0].Acquire(ctx, acme(enrich.Standard, "sales"))
			if err == nil {
				permit.Settle(enrich.KnownCharge(0), nil)
			}
			return time.Since(began), err
		}
		f.cut()
		for _, most := range []time.Duration{7 * time.Second, 0} {
			took, err := ask()
			var refusal *quota.Refusal
			if !errors.As(err, &refusal) || refusal.Reason != enrich.ReasonNoToken || !refusal.ReadyAt.After(time.Now()) || took > most {
				t.Errorf("after %s, want %s at most: %v", took, most, err)
			}
		}
		f.mend()
		time.Sleep(5 * time.Second)
		_, _ = ask() // finds out that Redis is back
		time.Sleep(3 * time.Second)
		if took, err := ask(); err != nil || took > time.Second {
			t.Errorf("not served when Redis is back: %s, %v", took, err)
		}
	})
}

// TestStateLost: whatever Redis forgets, the vendor's limit holds and nothing
// stalls.
func TestStateLost(t *testing.T) {
	type saved map[string]string
	for name, lose := range map[string]func(f *fleet, earlier saved){
		"flushed":      func(f *fleet, _ saved) { f.redis.FlushAll() },
		"scripts lost": func(f *fleet, _ saved) { flushScripts(f) },
		"failed over to an older state": func(f *fleet, earlier saved) {
			f.redis.FlushAll()
			for field, value := range earlier {
				f.redis.HSet("enrichd:quota:{v:acme}", field, value)
			}
		},
		"frozen for two seconds": func(f *fleet, _ saved) {
			for _, w := range f.wires {
				w.freeze(true)
			}
			time.Sleep(2 * time.Second)
			for _, w := range f.wires {
				w.freeze(false)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(10 * time.Second)
				f := newFleet(t, 3, perMinute, bucket, enrich.Limit{Name: "at_once", Shape: enrich.Concurrency, Amount: 3})
				v := newVendor(&strictFixed{amount: 600, length: time.Minute}, newStrictBucket(10, 20), &strictSlots{amount: 3})
				r := newResult(v)
				var all sync.WaitGroup
				for i := range 1200 {
					all.Go(func() { r.lead(context.Background(), f.keepers[i%3], acme(enrich.Bulk, "big")) })
				}
				time.Sleep(15 * time.Second)
				earlier := saved{}
				fields, err := f.redis.HKeys("enrichd:quota:{v:acme}")
				if err != nil {
					t.Fatal(err)
				}
				for _, field := range fields {
					earlier[field] = f.redis.HGet("enrichd:quota:{v:acme}", field)
				}
				time.Sleep(10 * time.Second)
				lose(f, earlier)
				all.Wait()
				atMost(t, "refused per 10,000 calls", r.per10k(), 0)
				atLeast(t, "ideal/drain", 118/r.drained().Seconds(), .8)
			})
		})
	}
}

func flushScripts(f *fleet) {
	conn, err := f.redis.Dial()
	if err != nil {
		panic(err)
	}
	client := proto.NewClient(conn)
	defer client.Close()
	if _, err := client.Do("SCRIPT", "FLUSH"); err != nil {
		panic(err)
	}
}

// TestOnePauseForAll: of callers at all replicas, one is refused; until the hint
// nobody calls again but who was on the way already.
func TestOnePauseForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, bucket)
		until := time.Now().Add(3 * time.Second)
		f.keepers[0].Pause("acme", until, enrich.PausedByHint)
		time.Sleep(10 * time.Millisecond)
		for i, k := range f.keepers {
			permit, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a"))
			if refusal == nil || refusal.Pause != enrich.PausedByHint || refusal.ReadyAt.Sub(until).Abs() > time.Millisecond {
				t.Errorf("replica %d: want a refusal until %s, got %v %v", i, until, permit, refusal)
			}
		}
		time.Sleep(time.Until(until) + time.Millisecond)
		for i, k := range f.keepers {
			if _, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a")); refusal != nil {
				t.Errorf("replica %d after the pause: %v", i, refusal)
			}
		}
	})
}

// TestOperatorPause holds without an end, at replicas that start later too, and
// ends everywhere.
func TestOperatorPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, bucket)
		f.keepers[0].Pause("acme", time.Time{}, enrich.PausedByOperator)
		time.Sleep(time.Second)
		late := f.add(t)
		refused := func(k *quota.Keeper) bool {
			_, refusal := within(t, k, time.Second, acme(enrich.Interactive, "a"))
			return refusal != nil && refusal.Pause == enrich.PausedByOperator
		}
		if !refused(f.keepers[1]) || !refused(late) {
			t.Fatal("the pause does not hold everywhere")
		}
		f.keepers[1].Resume("acme")
		time.Sleep(time.Second)
		for i, k := range f.keepers {
			if refused(k) {
				t.Errorf("replica %d is still closed", i)
			}
		}
	})
}

// TestAnotherSystemSpends: a system that we know nothing of uses 3 of the
// vendor's 10 calls per second; the vendor says what remains.
func TestAnotherSystemSpends(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(perMinute)
		rule := &strictFixed{amount: 600, length: time.Minute}
		v := newVendor(rule)
		v.tells = rule
		stop := make(chan struct{})
		var other sync.WaitGroup
		other.Go(func() { v.spendElsewhere(time.Second/3, stop) })
		r := drain(v, 3000, func(i int) *quota.Keeper { return ks[i%len(ks)] })
		close(stop)
		other.Wait()
		atLeast(t, "part of the limit that was used", 3000/r.drained().Seconds()/10, .67)
		atMost(t, "refused per 10,000 calls", r.per10k(), 50)
	})
}

// TestTheRealLimitIsLower: the vendor allows half of what is configured and says
// nothing but when to come back. Nothing stalls, and few calls are refused.
func TestTheRealLimitIsLower(t *testing.T) {
	conform(t, func(t *testing.T, start func(...enrich.Limit) []*quota.Keeper) {
		ks := start(perMinute)
		v := newVendor(&strictFixed{amount: 300, length: time.Minute})
		v.ban = ban{20, 10 * time.Second, 30 * time.Second}
		r := drain(v, 3000, func(i int) *quota.Keeper { return ks[i%len(ks)] })
		atLeast(t, "ideal/drain", 9*60/r.drained().Seconds(), .9)
		atMost(t, "refused per 10,000 calls", r.per10k(), 100)
	})
}

// TestAServerClockThatIsPut: a replica uses the server's calendar, even if its
// own clock is days off. A server's clock that is put back refills nothing.
func TestAServerClockThatIsPut(t *testing.T) {
	for name, c := range map[string]struct {
		put  time.Duration
		most int // calls afterwards
	}{"back": {-50 * time.Hour, 4}, "on": {50 * time.Hour, 10}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(100 * time.Hour)
				f := newFleet(t, 1, enrich.Limit{Name: "day", Shape: enrich.FixedWindow, Amount: 10, Calendar: "day"})
				if got := len(burst(f.keepers, 6, time.Second, acme(enrich.Interactive, "a"))); got != 6 {
					t.Fatalf("got %d calls, want 6", got)
				}
				f.redis.SetTime(time.Now().Add(c.put))
				f.add(t)
				late := len(burst(f.keepers[1:], 3, time.Second, acme(enrich.Interactive, "a")))
				if late != 3 {
					t.Errorf("the new replica got %d calls, want 3", late)
				}
				if got := late + len(burst(f.keepers, 20, time.Second, acme(enrich.Interactive, "a"))); got > c.most {
					t.Errorf("%d calls were let through, want at most %d", got, c.most)
				}
			})
		})
	}
}
