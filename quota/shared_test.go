package quota_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// TestThreeReplicasDrain measures three replicas that share a Redis: leads that
// enter at all of them, and all at one.
func TestThreeReplicasDrain(t *testing.T) {
	for _, c := range drainCases {
		t.Run(c.name, func(t *testing.T) {
			for entry, enter := range map[string]func(int) int{"in turn": inTurn, "all at one": atOne} {
				if raceEnabled && (c.leads > 1000 || entry == "all at one") {
					continue // the rest shows no other races
				}
				t.Run(entry, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						var f *fleet
						r := c.run(t, func(t *testing.T, limits ...enrich.Limit) []*quota.Keeper {
							f = newFleet(t, 3, limits...)
							return f.keepers
						}, enter)
						atMost(t, "Redis calls per vendor call", float64(f.trips())/float64(r.vendor.calls), 1)
					})
				})
			}
		})
	}
}

func threeReplicas(t *testing.T, limits ...enrich.Limit) []*quota.Keeper {
	return newFleet(t, 3, limits...).keepers
}

func TestThreeReplicasAreFair(t *testing.T) {
	for name, measure := range map[string]func(t *testing.T){
		"F1 bucket": func(t *testing.T) {
			measureSmallAccount(t, threeReplicas, newVendor(newStrictBucket(10, 20)), inTurn, bucket)
		},
		"F1 bucket, small at one": func(t *testing.T) {
			measureSmallAccount(t, threeReplicas, newVendor(newStrictBucket(10, 20)), atOne, bucket)
		},
		"F1 fixed": func(t *testing.T) { measureSmallAccount(t, threeReplicas, fixedMinute(), inTurn, perMinute) },
		"F2":       func(t *testing.T) { measureInteractive(t, threeReplicas, fixedMinute(), idealMinute, perMinute) },
		"F2 bucket": func(t *testing.T) {
			measureInteractive(t, threeReplicas, newVendor(newStrictBucket(10, 20)), idealBucket, bucket)
		},
		"F3": func(t *testing.T) { measureClumps(t, threeReplicas, fixedMinute(), perMinute) },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, measure) })
	}
}

// TestStockOfARichAccount has callers come one after the other to an account
// that none of them can exhaust: most find a call booked, and what nobody came
// for goes back.
func TestStockOfARichAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, amount = 4000, 1_000_000
		f := newFleet(t, 2, enrich.Limit{Name: "daily", Shape: enrich.FixedWindow, Unit: enrich.Requests, Amount: amount, Calendar: "day"})
		call := func(k *quota.Keeper) {
			permit, err := k.Acquire(t.Context(), quota.Ask{Provider: "acme"})
			if err != nil {
				t.Fatal(err)
			}
			permit.Settle(enrich.KnownCharge(0), nil)
		}
		for range calls {
			call(f.keepers[0])
			time.Sleep(500 * time.Microsecond)
		}
		atMost(t, "Redis calls per vendor call", float64(f.trips())/calls, 0.25)

		before := f.trips()
		time.Sleep(time.Minute)
		atMost(t, "Redis calls once nobody comes", float64(f.trips()-before), 30) // each looks for switches every 5 s
		call(f.keepers[1])
		if left := f.keepers[1].Snapshot()[0].Limits[0].Left; left != amount-calls-1 {
			t.Errorf("%d calls are left of %d after %d: those that nobody came for are not back", left, amount, calls+1)
		}
	})
}
