package quota_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/enrichd/enrichd/enrich"
	"github.com/enrichd/enrichd/quota"
	"github.com/enrichd/enrichd/redisconn"
)

// fleet is some replicas that share a Redis inside the test's bubble.
type fleet struct {
	redis   *miniredis.Miniredis
	config  quota.Config
	limits  map[string][]enrich.Limit
	keepers []*quota.Keeper
	wires   []*wire
}

// newFleet starts replicas that keep the limits of the provider "acme".
func newFleet(t *testing.T, size int, limits ...enrich.Limit) *fleet {
	t.Helper()
	f := &fleet{
		redis:  miniredis.NewMiniRedis(),
		config: quota.Config{Redis: quota.RedisConfig{Config: redisconn.Config{Addresses: []string{"127.0.0.1:6379"}}}},
		limits: map[string][]enrich.Limit{"acme": limits},
	}
	t.Cleanup(func() {
		f.redis.Close()
		time.Sleep(2 * time.Second) // go-redis looks once more for a lost server
	})
	for range size {
		f.add(t)
	}
	return f
}

// add starts one more replica.
func (f *fleet) add(t *testing.T) *quota.Keeper {
	t.Helper()
	w := &wire{redis: f.redis}
	k, err := quota.New(f.config, f.limits, quota.Options{Dialer: w.dial})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	f.keepers, f.wires = append(f.keepers, k), append(f.wires, w)
	return k
}

// trips is how often a script was asked for.
func (f *fleet) trips() (sum int64) {
	for _, w := range f.wires {
		sum += w.sent.Load()
	}
	return sum
}

// cut cuts all replicas off from Redis, mend ends that.
func (f *fleet) cut() {
	for _, w := range f.wires {
		w.cut()
	}
}

func (f *fleet) mend() {
	for _, w := range f.wires {
		w.mend()
	}
}

// wire is a replica's way to Redis: 0.6 ms there and back. It can be cut, and it
// can freeze: then nothing comes through and nothing breaks.
type wire struct {
	redis *miniredis.Miniredis
	sent  atomic.Int64

	mu     sync.Mutex
	down   bool
	frozen bool
	conns  []net.Conn
}

var errCut = errors.New("the wire is cut")

func (w *wire) dial(context.Context, string, string) (net.Conn, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.down {
		return nil, errCut
	}
	conn, err := w.redis.Dial()
	if err != nil {
		return nil, err
	}
	w.conns = append(w.conns, conn)
	return &wireConn{Conn: conn, wire: w}, nil
}

func (w *wire) cut() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = true
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

func (w *wire) freeze(on bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.frozen = on
}

type wireConn struct {
	net.Conn
	wire *wire
}

func (c *wireConn) Write(p []byte) (int, error) {
	c.wire.mu.Lock()
	frozen := c.wire.frozen
	c.wire.mu.Unlock()
	if frozen {
		return len(p), nil
	}
	c.wire.sent.Add(int64(bytes.Count(p, []byte("evalsha"))))
	time.Sleep(600 * time.Microsecond)
	return c.Conn.Write(p)
}
