package quota_test

import (
	"context"
	"testing"
	"time"

	"github.com/enrichd/enrichd/cache/redistest"
	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

// TestRealRedis shows that the scripts mean the same to a real server as to the
// one of the other tests: two replicas find what they spent together.
func TestRealRedis(t *testing.T) {
	server := redistest.Start(t)
	limits := map[string][]enrich.Limit{"acme": {
		{Name: "bucket", Shape: enrich.TokenBucket, Amount: 1000, Window: time.Hour},
		{Name: "year", Shape: enrich.FixedWindow, Amount: 2000, Window: 366 * 24 * time.Hour},
		{Name: "month", Shape: enrich.FixedWindow, Amount: 1500, Calendar: "month", Zone: "Europe/Berlin"},
		{Name: "sliding", Shape: enrich.Sliding, Amount: 1200, Window: time.Hour},
		{Name: "at_once", Shape: enrich.Concurrency, Amount: 100},
	}}
	config := quota.Config{Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{server.Addr}}}}
	var keepers []*quota.Keeper
	for range 2 {
		k, err := quota.New(config, limits, quota.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer k.Close()
		keepers = append(keepers, k)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for i := range 20 {
		permit, err := keepers[i%2].Acquire(ctx, acme(enrich.Standard, "a"))
		if err != nil {
			t.Fatal(err)
		}
		permit.Settle(enrich.KnownCharge(0), nil)
	}
	want := map[string]int64{"bucket": 980, "year": 1980, "month": 1480, "sliding": 1180, "at_once": 100}
	for _, level := range keepers[1].Snapshot()[0].Limits {
		if level.Left != want[level.Name] {
			t.Errorf("%s has %d left, want %d", level.Name, level.Left, want[level.Name])
		}
	}
}
