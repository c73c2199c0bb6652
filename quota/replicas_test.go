package quota_test

import (
	"bytes"
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
)

// fleet is some replicas that share a Redis inside the test's bubble.
type fleet struct {
	redis   *miniredis.Miniredis
	config  quota.Config
	limits  map[string][]enrich.Limit
	keepers []*quota.Keeper
	trips   atomic.Int64 // to Redis
}

// newFleet starts replicas that keep the limits of the provider "acme".
func newFleet(t *testing.T, size int, limits ...enrich.Limit) *fleet {
	t.Helper()
	f := &fleet{
		redis:  miniredis.NewMiniRedis(),
		config: quota.Config{Redis: quota.RedisConfig{Addresses: []string{"127.0.0.1:6379"}}},
		limits: map[string][]enrich.Limit{"acme": limits},
	}
	t.Cleanup(f.redis.Close)
	for range size {
		f.add(t)
	}
	return f
}

// add starts one more replica.
func (f *fleet) add(t *testing.T) *quota.Keeper {
	t.Helper()
	k, err := quota.New(f.config, f.limits, quota.Options{Dialer: f.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	f.keepers = append(f.keepers, k)
	return k
}

// dial reaches the Redis of the fleet: 0.6 ms there and back.
func (f *fleet) dial(context.Context, string, string) (net.Conn, error) {
	conn, err := f.redis.Dial()
	if err != nil {
		return nil, err
	}
	return &slowConn{conn, &f.trips}, nil
}

// slowConn delays and counts what is sent.
type slowConn struct {
	net.Conn
	sent *atomic.Int64
}

func (c *slowConn) Write(p []byte) (int, error) {
	c.sent.Add(int64(bytes.Count(p, []byte("evalsha"))))
	time.Sleep(600 * time.Microsecond)
	return c.Conn.Write(p)
}
